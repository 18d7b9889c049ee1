"""Skeletons, the short form that the editor's `convertToExcalidrawElements` takes (research scene §2.5).

They become the strict input of the operations, so that labels fit and arrows end on their targets, which the editor's
own conversion does not see to. Frames, which nobody can create by an operation, are put around their children.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from countermark.scene import document, operation
from countermark.scene.codes import refuse
from countermark.scene.document import Element, Scene
from countermark.scene.element import COMMON, INPUT, LABEL, SET_BY_STORE, label_element
from countermark.scene.element import Label as Said
from countermark.scene.env import Env
from countermark.scene.exchange.report import Report, worded
from countermark.scene.label import grown, metrics
from countermark.scene.number import is_number
from countermark.scene.vocabulary import CREATABLE, FRAMES, LINEAR, SHAPES

KIND: Final = "excalidraw-skeleton"
_SIDE: Final = 100
_PADDING: Final = 10
"""How far a frame stands from its children, as in the editor's conversion."""
_BETWEEN: Final = 5
_ENDS: Final = {"start": "startElementId", "end": "endElementId"}
_OWN: Final = frozenset({"label", "start", "end", "children", "name"})
_UNSAID: Final = SET_BY_STORE | {"points", "width", "height", "type", "id", "lastCommittedPoint", "containerId"}


def drawn(elements: Any, env: Env, report: Report, files: Mapping[str, Any] | None = None) -> Scene:
    """Return the scene of some skeletons; notes what is not carried over.

    Raises as `operation.create` does, with a pointer into the skeletons, `unsupported_element` for a type that has no
    short form.
    """
    if not isinstance(elements, list):
        raise _wrong("/elements", "is no array of skeletons", "invalid_scene")
    work = _Work(env, report)
    for place, given in enumerate(elements):
        work.take(given, f"/elements/{place}")
    work.frame_children()
    used = {name: entry for name, entry in (files or {}).items() if isinstance(entry, dict)}
    made = operation.extend(_framed(work.frames), work.given, _with_files(env, used))
    return _fitted(made.scene, work.frames, env)


@dataclass
class _Frame:
    """A frame to be: its element, whom it holds, and whether it says its own place."""

    element: Element
    children: tuple[str, ...]
    placed: bool


@dataclass
class _Work:
    """The strict input being made."""

    env: Env
    report: Report
    given: list[dict[str, Any]] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)

    def take(self, given: Any, pointer: str) -> None:
        if not isinstance(given, dict):
            raise _wrong(pointer, f"({worded(given)}) is no skeleton", "invalid_scene")
        kind = given.get("type")
        if kind in FRAMES if isinstance(kind, str) else False:
            self._frame(given, pointer)
        elif isinstance(kind, str) and kind in CREATABLE:
            self._element(given, kind, pointer)
        else:
            raise _wrong(f"{pointer}/type", f"({worded(kind)}) has no short form", "unsupported_element")

    def _element(self, given: Mapping[str, Any], kind: str, pointer: str) -> None:
        allowed = {"id", "type", "seed", *COMMON, *INPUT[kind]}
        made = {name: value for name, value in given.items() if name in allowed and name != "label"}
        made.setdefault("id", self.env.identity())
        for member in ("x", "y"):
            made.setdefault(member, 0)
        about = str(made["id"])
        for name in given:
            if name not in allowed and name not in _OWN:
                quiet = name in _UNSAID and given[name] in (None, [], False, 0)
                if not quiet:
                    self.report.dropped(about, f"{name} {worded(given[name])}: a skeleton's is not carried over")
        if kind in LINEAR:
            self._line(given, made, pointer)
        if kind == "text":
            made.pop("width", None)
        if kind in SHAPES or kind == "arrow":
            self._label(given, made, kind)
        self.given.append(made)

    def _label(self, given: Mapping[str, Any], made: dict[str, Any], kind: str) -> None:
        said = given.get("label")
        if said is None:
            return
        if isinstance(said, dict):
            for name in said:
                if name not in LABEL:
                    self.report.dropped(str(made["id"]), f"label/{name}: a skeleton's is not carried over")
            said = {name: value for name, value in said.items() if name in LABEL}
        made["label"] = said
        if kind in SHAPES and not ("width" in made and "height" in made):
            self._shrink(said, made, kind)

    def _shrink(self, said: Any, made: dict[str, Any], kind: str) -> None:
        """Give a shape that has only a label the size of its label, as the editor does."""
        text = said.get("text") if isinstance(said, dict) else said
        if not isinstance(text, str) or not text:
            return  # refused where it is made, with its place
        fields = {name: value for name, value in said.items() if name != "text"} if isinstance(said, dict) else {}
        probe = label_element(Said(text, fields, ""), {"id": "", "strokeColor": None}, self.env)
        family, size, spacing = metrics(probe)
        measured = self.env.measure(text, family, size, spacing)
        for member, need in (("width", measured.width), ("height", measured.height)):
            made.setdefault(member, grown(kind, need))

    def _line(self, given: Mapping[str, Any], made: dict[str, Any], pointer: str) -> None:
        if "points" in made:
            made.pop("width", None)
            made.pop("height", None)
        else:
            made.setdefault("width", _SIDE)
            made.setdefault("height", 0)
        for end, member in _ENDS.items():
            said = given.get(end)
            if said is None:
                continue
            if made["type"] != "arrow":
                self.report.dropped(str(made["id"]), f"{end}: only an arrow has ends that hold on")
            elif not isinstance(said, dict):
                raise _wrong(f"{pointer}/{end}", f"({worded(said)}) names no element")
            elif said.get("type") is None:
                made[member] = said.get("id")
            else:
                made[member] = self._target(said, made, end, f"{pointer}/{end}")

    def _target(self, said: Mapping[str, Any], arrow: Mapping[str, Any], end: str, pointer: str) -> str:
        """Make the element at an end that is given by its type; without a place it stands where the arrow points."""
        known = {str(one["id"]) for one in self.given}
        if isinstance(said.get("id"), str) and said["id"] in known:
            return str(said["id"])
        target = {"id": self.env.identity(), **said}
        if not {"x", "y"} <= said.keys():
            target |= self._beside(target, arrow, end)
        self.take(target, pointer)
        return str(target["id"])

    def _beside(self, target: Mapping[str, Any], arrow: Mapping[str, Any], end: str) -> dict[str, Any]:
        x, y = _number(arrow.get("x")), _number(arrow.get("y"))
        width, height = self._size(target)
        if end == "start":
            return {"x": x - width - _BETWEEN, "y": y - height / 2}
        points = arrow.get("points")
        last = points[-1] if isinstance(points, list) and points else [arrow.get("width"), arrow.get("height")]
        dx, dy = (_number(one) for one in last) if isinstance(last, list) and len(last) >= len("xy") else (0, 0)
        return {"x": x + dx + _BETWEEN, "y": y + dy - height / 2}

    def _size(self, target: Mapping[str, Any]) -> tuple[float, float]:
        text = target.get("text")
        if target.get("type") == "text" and isinstance(text, str):
            probe = label_element(Said(text, {}, ""), {"id": ""}, self.env)
            measured = self.env.measure(text, *metrics(probe))
            return measured.width, measured.height
        return _number(target.get("width"), _SIDE), _number(target.get("height"), _SIDE)

    def _frame(self, given: Mapping[str, Any], pointer: str) -> None:
        children = given.get("children", [])
        if not isinstance(children, list) or not all(isinstance(child, str) for child in children):
            raise _wrong(f"{pointer}/children", "is no array of ids")
        name, key = given.get("name"), given.get("id")
        if name is not None and not isinstance(name, str):
            raise _wrong(f"{pointer}/name", f"({worded(name)}) is no text")
        if key is not None and not (isinstance(key, str) and key):
            raise _wrong(f"{pointer}/id", f"({worded(key)}) is no text")
        sides = ("x", "y", "width", "height")
        placed = all(is_number(given.get(side)) for side in sides)
        # A frame has what every shape has: it is made as one, and then called a frame.
        shape: dict[str, Any] = {"type": "rectangle", "x": 0, "y": 0, "width": 1, "height": 1}
        shape |= {side: given[side] for side in sides if placed}
        element = dict(operation.create([{**shape, **({"id": key} if key else {})}], self.env).scene.elements[0])
        element |= {"type": given["type"], "name": name, "roundness": None, "strokeColor": "#bbb", "strokeWidth": 2}
        for member in given:
            if member not in {"type", "id", "name", "children", *sides} and given[member] not in (None, [], False):
                self.report.dropped(
                    str(element["id"]), f"{member} {worded(given[member])}: a frame's is not carried over"
                )
        self.frames.append(_Frame(element, tuple(children), placed))

    def frame_children(self) -> None:
        """Let each element know its frame; raise `invalid_reference` for a child that is nowhere."""
        by_id = {str(one["id"]): one for one in self.given}
        for frame in self.frames:
            for child in frame.children:
                if child not in by_id:
                    raise _wrong(
                        "/elements", f"names {worded(child)} as a child, which is no element", "invalid_reference"
                    )
                by_id[child]["frameId"] = frame.element["id"]


def _framed(frames: Sequence[_Frame]) -> Scene:
    scene = document.empty()
    return scene.replaced(elements=[frame.element for frame in frames]) if frames else scene


def _with_files(env: Env, files: Mapping[str, Any]) -> Env:
    return Env(env.limits, env.now, env.chance, env.measure, env.wrap, None, files or None)


def _fitted(scene: Scene, frames: Sequence[_Frame], env: Env) -> Scene:
    """Put the frames that say no place around their children."""
    del env
    around = {str(frame.element["id"]): frame for frame in frames if not frame.placed}
    if not around:
        return scene
    return scene.replaced(elements=[_around(one, scene, around) for one in scene.elements])


def _around(element: Element, scene: Scene, around: Mapping[str, _Frame]) -> Element:
    frame = around.get(str(element.get("id")))
    boxes = list(_boxes(scene, str(element.get("id")))) if frame is not None else []
    if not boxes:
        return element
    left, top = min(box[0] for box in boxes) - _PADDING, min(box[1] for box in boxes) - _PADDING
    right, bottom = max(box[2] for box in boxes) + _PADDING, max(box[3] for box in boxes) + _PADDING
    return {**element, "x": left, "y": top, "width": right - left, "height": bottom - top}


def _boxes(scene: Scene, frame: str) -> Iterator[tuple[float, float, float, float]]:
    for element in scene.elements:
        if element.get("frameId") == frame:
            x, y, width, height = (float(element[side]) for side in ("x", "y", "width", "height"))
            yield min(x, x + width), min(y, y + height), max(x, x + width), max(y, y + height)


def _number(value: Any, default: float = 0) -> float:
    return value if is_number(value) else default


def _wrong(pointer: str, what: str, code: str = "invalid_operation") -> Exception:
    return refuse(
        code,
        f"{pointer} {what}.",
        next_action="Correct the skeletons; nothing was imported.",
        details={"pointer": pointer},
    )
