"""Frames: who may be in one, where children stand in order, and children that move along (research §2.4)."""

from __future__ import annotations

from countermark.scene.change import Change
from countermark.scene.codes import refuse
from countermark.scene.document import kind_of
from countermark.scene.line import plain
from countermark.scene.relation import Relations, is_sound, label_of
from countermark.scene.vocabulary import FRAMES


def enter(change: Change) -> None:
    """Put elements into the frames that they name, their labels along; raises `invalid_reference`."""
    draft = change.draft
    for wish in change.framed.values():
        element = draft.live(wish.element)
        if element is None:
            continue
        wanted = wish.target or None
        if wanted is not None:
            frame = draft.live(wanted)
            what = None
            if frame is None or kind_of(frame) not in FRAMES:
                what = "is no live frame"
            elif kind_of(element) in FRAMES:
                what = "cannot hold a frame"
            if what is not None:
                raise refuse(
                    "invalid_reference",
                    f"{wish.pointer}: {wanted!r} {what} (element {wish.element!r}).",
                    next_action="Name a frame of the scene, or null.",
                    details={"pointer": wish.pointer, "element": wish.element, "reference": wanted},
                )
        label = change.labels.get(wish.element) or label_of(draft, wish.element)
        if label is not None:
            draft.set(label, frameId=wanted)
        before = draft.base.get(wish.element)
        if wanted is not None and before is not None and before.get("frameId") != wanted:
            draft.settle(wish.element)
            if label is not None:
                draft.settle(label)


def carry(change: Change, found: Relations) -> None:
    """Move the children of frames that moved, except those that the call moved itself."""
    draft = change.draft
    for name, pose in list(change.shifted.items()):
        frame = draft.live(name)
        if frame is None or kind_of(frame) not in FRAMES:
            continue
        dx, dy = frame["x"] - pose.x, frame["y"] - pose.y
        if not dx and not dy:
            continue
        for child in found.children.get(name, ()):
            element = draft.live(child)
            if element is None or child in change.shifted or element.get("containerId") or not is_sound(element):
                continue
            change.shift(child)
            draft.set(child, x=plain(element["x"] + dx), y=plain(element["y"] + dy))
