"""The operations of one call on one scene: all of them, or none (seed 3 §4.3, §4.4).

Nothing is changed in place. Elements that the operations and what follows from them leave as they were stay the same
objects, so that the file keeps their bytes; those that change get a new `version`, `versionNonce` and `updated`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from countermark.scene import attachment
from countermark.scene.binding import END, START
from countermark.scene.change import Change, Wish
from countermark.scene.codes import refuse
from countermark.scene.document import APP_STATE, Element, Scene, empty, require_within
from countermark.scene.draft import Draft
from countermark.scene.element import Made, make
from countermark.scene.env import Env
from countermark.scene.field import Fields
from countermark.scene.jsontext import same, uncollected
from countermark.scene.label import measure
from countermark.scene.number import is_number
from countermark.scene.patch import patch
from countermark.scene.settle import settle
from countermark.scene.vocabulary import MOST_OPERATIONS

__all__ = ["Applied", "Env", "apply", "create"]

_KINDS: Final = ("add", "update", "delete")


@dataclass(frozen=True, slots=True)
class Applied:
    """A changed scene.

    `added`, `updated`, `deleted` count operations; `ids` are their elements, in their order. `followed` names what else
    changed: labels, arrows, targets, children. `approximate` names texts whose size is an assumption, and why.
    """

    scene: Scene
    added: int
    updated: int
    deleted: int
    ids: tuple[str, ...]
    followed: tuple[str, ...] = ()
    approximate: tuple[tuple[str, str], ...] = ()


def apply(scene: Scene, operations: Any, env: Env) -> Applied:
    """Return a scene with 1 to 500 operations applied; one that is wrong rejects all.

    Raises `invalid_operation`, `unsupported_element`, `duplicate_id`, `invalid_reference`, `not_found`, `too_large`,
    `too_many_elements`, `invalid_scene`, with the element's id and a JSON pointer into the call.
    """
    if not isinstance(operations, list) or not 1 <= len(operations) <= MOST_OPERATIONS:
        _refuse(
            "/operations", f"is no list of 1 to {MOST_OPERATIONS} operations", "Divide the work over several calls."
        )
    with uncollected(len(scene.source)):
        return _done(scene, operations, env, "/operations")


def create(elements: Any, env: Env) -> Applied:
    """Return a new scene of some elements, which may refer to each other; raises as `apply` does."""
    if not isinstance(elements, list):
        _refuse("/elements", "is no list", "Give an array of elements.")
    return _done(empty(), [{"op": "add", "element": element} for element in elements], env, "/elements")


def extend(scene: Scene, elements: Sequence[Any], env: Env) -> Applied:
    """Return a scene with elements added, as many as the limits allow; raises as `apply` does."""
    return _done(scene, [{"op": "add", "element": element} for element in elements], env, "/elements")


def _done(scene: Scene, operations: Sequence[Any], env: Env, root: str) -> Applied:
    env = replace(env, files=_files(scene, env), guessed={})
    change = Change(Draft(scene, env))
    counts = dict.fromkeys(_KINDS, 0)
    ids: list[str] = []
    for place, operation in enumerate(operations):
        pointer = f"{root}/{place}"
        kind = _kind(operation, pointer)
        counts[kind] += 1
        ids.append(_DO[kind](change, operation, pointer if root == "/elements" else None, pointer))
    settle(change)
    draft = change.draft
    changed = _bumped(draft)
    elements = draft.order() if changed or draft.made else scene.elements
    after = scene.replaced(
        elements=elements,
        app_state={**scene.app_state, **_app_state(env.app_state)} if env.app_state else None,
        files={**scene.files, **env.files} if env.files else None,
    )
    require_within(after, env.limits)
    named = set(ids)
    followed = tuple(name for name in (*changed, *draft.made) if name not in named)
    guessed = tuple((name, why) for name, why in env.guessed.items() if draft.live(name) is not None)
    return Applied(after, counts["add"], counts["update"], counts["delete"], tuple(ids), followed, guessed)


def _kind(operation: Any, pointer: str) -> str:
    fields = Fields(operation, pointer)
    kind = fields.word("op", _KINDS)
    fields.only({"add": ("op", "element"), "update": ("op", "id", "patch"), "delete": ("op", "id")}[kind])
    return str(kind)


def _add(change: Change, operation: Mapping[str, Any], at: str | None, pointer: str) -> str:
    pointer = at or f"{pointer}/element"
    if "element" not in operation:
        _refuse(pointer, "is missing", "Give the element to add.")
    made = make(operation["element"], pointer, change.env)
    element = made.element
    name = str(element["id"])
    _require_new(change, name, f"{pointer}/id")
    if made.label is not None and "id" in made.label.fields:
        _require_new(change, made.label.fields["id"], f"{made.label.pointer}/id", name)
    if element["type"] == "text":
        measure(element, change.env)
    _wish(change, made, pointer)
    change.draft.add(element)
    if made.label is not None:
        change.add_label(element, made.label)
    return name


def _wish(change: Change, made: Made, pointer: str) -> None:
    element, name = made.element, str(made.element["id"])
    for target, end, member in ((made.start, START, "startElementId"), (made.end, END, "endElementId")):
        if target is not None:
            change.bindings[name, end] = Wish(name, target, f"{pointer}/{member}", end)
    if element.get("containerId") is not None:
        change.contained.append(Wish(name, element["containerId"], f"{pointer}/containerId"))
    if element["frameId"] is not None:
        change.framed[name] = Wish(name, element["frameId"], f"{pointer}/frameId")
    if element["type"] == "image":
        change.pictured.append(Wish(name, element["fileId"], f"{pointer}/fileId"))
    if element.get("elbowed"):
        change.rebound[name] = None


def _update(change: Change, operation: Mapping[str, Any], _at: str | None, pointer: str) -> str:
    name = _live(change, operation, pointer)
    if "patch" not in operation:
        _refuse(f"{pointer}/patch", "is missing", "Give the fields to change.", name)
    patch(change, name, operation["patch"], f"{pointer}/patch")
    return name


def _delete(change: Change, operation: Mapping[str, Any], _at: str | None, pointer: str) -> str:
    name = _live(change, operation, pointer)
    change.bury(name)
    return name


_DO: Final = {"add": _add, "update": _update, "delete": _delete}


def _live(change: Change, operation: Mapping[str, Any], pointer: str) -> str:
    name = Fields(operation, pointer).text("id", longest=10_000)
    element = change.draft.get(name)
    if element is None or element.get("isDeleted"):
        what = "is deleted" if element is not None else "is not in the scene"
        _refuse(
            f"{pointer}/id", f"({name[:80]!r}) {what}", "Read the scene and name a live element.", name, "not_found"
        )
    return str(name)


def _require_new(change: Change, name: str, pointer: str, element: str | None = None) -> None:
    if change.draft.get(name) is not None or name == element:
        _refuse(
            pointer,
            f"({name!r}) is an id that the scene has already",
            "Give another id, or none.",
            name,
            "duplicate_id",
        )


def _bumped(draft: Draft) -> list[str]:
    """Mark every element that says something else than before as changed; forget the rest."""
    for name, element in list(draft.changed.items()):
        before = draft.base[name]
        if name not in draft.moved and same(element, before):
            del draft.changed[name]
            continue
        version = before.get("version")
        element["version"] = version + 1 if isinstance(version, int) and not isinstance(version, bool) else 1
        nonce = draft.env.nonce()
        element["versionNonce"] = nonce if nonce != before.get("versionNonce") else nonce ^ 1
        element["updated"] = draft.env.now
    return list(draft.changed)


def _app_state(given: Any) -> dict[str, Any]:
    fields = Fields(given, "/app_state")
    fields.only(APP_STATE)
    found: dict[str, Any] = {}
    if fields.has("viewBackgroundColor"):
        found["viewBackgroundColor"] = fields.colour("viewBackgroundColor")
    if fields.has("gridSize"):
        size = fields.given["gridSize"]
        if size is not None and not (is_number(size) and 0 < size <= 1000):  # noqa: PLR2004 - a wider grid shows nothing
            fields.wrong("gridSize", "is no grid size", "Give null, or a number up to 1000.")
        found["gridSize"] = size
    if fields.has("gridModeEnabled"):
        found["gridModeEnabled"] = fields.flag("gridModeEnabled")
    return found


def _files(scene: Scene, env: Env) -> dict[str, Any]:
    found: dict[str, Any] = {}
    fields = Fields(env.files or {}, "/files")
    for name, entry in fields.given.items():
        found[name] = attachment.require(name, entry, "/files", env.now)
        if name in scene.files and not same(scene.files[name], found[name]):
            fields.wrong(name, "is a file that the scene has already", "Give it another id.", "duplicate_id")
    return found


def _refuse(
    pointer: str, what: str, next_action: str, element: str | None = None, code: str = "invalid_operation"
) -> NoReturn:
    details: dict[str, Element | str] = {"pointer": pointer}
    if element is not None:
        details["element"] = element
    raise refuse(code, f"{pointer} {what}.", next_action=next_action, details=details)
