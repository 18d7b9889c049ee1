"""After the operations: everything that follows from them, once, in one order (seed 3 §4.4, research §2).

Deletions first (ends let go, labels go along, frames leave their children), then new references, then what moves with
what moved: children with frames, labels with containers, arrow ends with targets.
"""

from __future__ import annotations

from typing import NoReturn

from countermark.scene import frame
from countermark.scene.binding import END, START, attach, can_hold, fresh, target_of
from countermark.scene.change import Change, Wish
from countermark.scene.codes import refuse
from countermark.scene.document import kind_of
from countermark.scene.label import fit, place
from countermark.scene.line import plain
from countermark.scene.relation import Relations, container_of, is_sound, join, label_of, part, relations, require_sound
from countermark.scene.spelling import shown
from countermark.scene.vocabulary import CONTAINERS, FRAMES

_ENDS = (START, END)


def settle(change: Change) -> None:
    """Do all that follows; raises `invalid_reference` with the pointer of the reference that does not hold."""
    draft = change.draft
    old = any(name in draft.base for name in (*change.deleted, *change.shifted, *change.relabelled))
    found = relations(draft) if old else Relations()
    _let_go(change, found)
    _contain(change)
    frame.enter(change)
    _bind(change)
    _require_pictures(change)
    frame.carry(change, found)
    _labels(change)
    _arrows(change, found)


def _let_go(change: Change, found: Relations) -> None:
    """Let everything forget what was deleted."""
    draft = change.draft
    for name in list(change.deleted):
        for text in (*found.texts.get(name, ()), change.labels.get(name)):
            if text is not None and draft.live(text) is not None:
                change.bury(text)
    for name in change.deleted:
        element = draft.get(name) or {}
        for arrow in found.arrows.get(name, ()):
            held = draft.live(arrow) or {}
            draft.set(arrow, **{end: None for end in _ENDS if target_of(held.get(end)) == name})
        if kind_of(element) in FRAMES:
            for child in found.children.get(name, ()):
                draft.set(child, frameId=None)
        for holder in (element.get("containerId"), *(target_of(element.get(end)) for end in _ENDS)):
            if isinstance(holder, str):
                part(draft, holder, name)


def _contain(change: Change) -> None:
    """Bind new texts to the containers that they name."""
    draft = change.draft
    for wish in change.contained:
        if draft.live(wish.element) is None:
            continue
        container = draft.live(wish.target)
        if container is None or kind_of(container) not in CONTAINERS:
            _missing(wish, "is no live shape or arrow", "Name a rectangle, ellipse, diamond or arrow of the scene.")
        require_sound(container, wish.pointer)
        if label_of(draft, wish.target) not in (None, wish.element):
            _missing(wish, "has bound text already", "Update that text instead.")
        join(draft, wish.target, wish.element, "text")
        change.labels[wish.target] = wish.element
        change.relabelled[wish.target] = None


def _bind(change: Change) -> None:
    draft = change.draft
    for wish in change.bindings.values():
        arrow = draft.live(wish.element)
        if arrow is None:
            continue
        before = target_of(arrow.get(wish.end))
        if not wish.target:
            draft.set(wish.element, **{wish.end: None})
        else:
            target = draft.live(wish.target)
            if target is None or wish.target == wish.element:
                _missing(wish, "is not in the scene", "Name a live element of the scene, or add it in the same call.")
            if not can_hold(target):
                what = f"cannot hold an arrow: it is {shown(target.get('type'))}"
                holder = container_of(target)
                _missing(
                    wish, what, f"Name its container {holder!r}." if holder else "Name a shape, text, image or frame."
                )
            require_sound(target, wish.pointer)
            draft.edit(wish.element)[wish.end] = fresh(wish.target)
            join(draft, wish.target, wish.element, "arrow")
        arrow = draft.edit(wish.element)
        if before is not None and before not in {target_of(arrow.get(end)) for end in _ENDS}:
            part(draft, before, wish.element)
        change.rebound[wish.element] = None
    for wish in change.bindings.values():
        arrow = draft.live(wish.element)
        ends = {target_of(arrow.get(end)) for end in _ENDS} if arrow is not None else set()
        if arrow is not None and len(ends) == 1 and None not in ends and len(arrow["points"]) < 3:  # noqa: PLR2004
            _missing(wish, "holds both ends of a straight arrow", "Give the arrow at least three points.")


def _require_pictures(change: Change) -> None:
    files = {**change.draft.scene.files, **(change.env.files or {})}
    for wish in change.pictured:
        if wish.target not in files:
            _missing(wish, "is no file of the scene", "Give the file in files, or name one that is there.")


def _labels(change: Change) -> None:
    draft = change.draft
    for name in {**change.relabelled, **change.shifted}:
        container = draft.live(name)
        if container is None or kind_of(container) not in CONTAINERS or not is_sound(container):
            continue
        known = change.labels.get(name) or label_of(draft, name)
        text = draft.live(known)
        if text is None or known is None or not is_sound(text):
            continue
        pose = change.shifted.get(name)
        resized = pose is not None and pose[2:4] != (container["width"], container["height"])
        if name in change.relabelled or resized:
            _fit(change, name, known)
        elif pose is not None and pose.angle == (container.get("angle") or 0) and container["type"] != "arrow":
            dx, dy = container["x"] - pose.x, container["y"] - pose.y
            if dx or dy:
                draft.set(known, x=plain(text["x"] + dx), y=plain(text["y"] + dy))
        elif pose is not None and _differs(pose, container):
            place(draft.edit(known), container)
        if name in draft.changed or known in draft.changed or known in draft.made:
            join(draft, name, known, "text")
            draft.set(known, containerId=name)


def _fit(change: Change, name: str, known: str) -> None:
    draft = change.draft
    text = draft.edit(known)
    container = draft.live(name)
    if container is None:
        return
    change.fitted[name] = None
    width, height = fit(text, container, change.env)
    if (width, height) != (container["width"], container["height"]):
        change.shift(name)
        draft.set(name, width=plain(width), height=plain(height))
        container = draft.live(name) or container
        if width != change.shifted[name].width:  # a wider container leaves its lines more room
            fit(text, container, change.env)
    place(text, container)


def _arrows(change: Change, found: Relations) -> None:
    draft = change.draft
    waiting = dict(change.rebound)
    for name in change.shifted:
        waiting.update(dict.fromkeys(found.arrows.get(name, ())))
    for name in waiting:
        arrow = draft.live(name)
        if arrow is None or not is_sound(arrow):
            continue
        targets = [draft.live(target_of(arrow.get(end))) for end in _ENDS]
        holding = [
            target if target is not None and can_hold(target) and is_sound(target) else None for target in targets
        ]
        if any(target is not None for target in holding):
            attach(draft.edit(name), *holding)
            for target in holding:
                if target is not None:
                    join(draft, target["id"], name, "arrow")
        known = change.labels.get(name) or label_of(draft, name)
        text = draft.live(known)
        if known is None or text is None or not is_sound(text):
            continue
        if name in change.fitted:
            _fit(change, name, known)
        else:  # nobody edited this text or sized its arrow: it goes along, as wide as it is stored
            place(draft.edit(known), draft.live(name) or arrow)


def _differs(pose: tuple[float, ...], element: dict[str, float]) -> bool:
    return pose != (element["x"], element["y"], element["width"], element["height"], element.get("angle") or 0)


def _missing(wish: Wish, what: str, next_action: str) -> NoReturn:
    raise refuse(
        "invalid_reference",
        f"{wish.pointer}: {wish.target!r} {what} (element {wish.element!r}).",
        next_action=next_action,
        details={"pointer": wish.pointer, "element": wish.element, "reference": wish.target},
    )
