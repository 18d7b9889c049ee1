"""Bytes from elsewhere become a scene, whatever program wrote them; what they are is seen in them, not in a name.

| bytes | what is taken |
|---|---|
| `.excalidraw`, a copied selection, old files without a type | the scene; what is sound keeps its bytes |
| skeletons, with a type or as a bare array | the scene that they stand for |
| `.excalidrawlib`, version 1 or 2 | its items, side by side |
| PNG, SVG | the scene that they carry, never the picture |
| Obsidian's `.excalidraw.md` | the drawing in it |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from countermark.scene import document, operation
from countermark.scene.codes import SceneError, refuse
from countermark.scene.document import KIND, SOURCE, Element, Scene, kind_of
from countermark.scene.element import LABEL
from countermark.scene.env import Env
from countermark.scene.exchange import inflate, items, loose, mend, obsidian, picture, png, skeleton, svg
from countermark.scene.exchange.report import Deed, Note, Report, worded
from countermark.scene.jsontext import uncollected
from countermark.scene.library import KIND as LIBRARY
from countermark.scene.library import Item
from countermark.scene.limits import Limits
from countermark.scene.relation import container_of
from countermark.scene.repair import repair
from countermark.scene.spelling import HOUSE, spell
from countermark.scene.vocabulary import CONTAINERS, MOST_OPERATIONS

LARGEST_FILE: Final = 64 << 20
"""A file may be larger than the scene in it: a PNG has its picture too."""
_CLIPBOARD: Final = "excalidraw/clipboard"
_ENDS: Final = {"start": "startElementId", "end": "endElementId"}
_SIGNS: Final = frozenset({"version", "versionNonce", "seed"})
"""What an element has that an editor wrote, and a skeleton has not."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was made of a file. `items` are a library's; `found` elements were in it, tombstones included."""

    format: str
    scene: Scene
    found: int
    notes: tuple[Note, ...]
    counts: Mapping[Deed, int]
    items: tuple[Item, ...] = ()

    def wire(self) -> dict[str, Any]:
        """Return the report as callers see it."""
        report: dict[str, Any] = {str(deed): number for deed, number in self.counts.items()}
        report["notes"] = [note.wire() for note in self.notes]
        return {"format": self.format, "found": self.found, "report": report}


def take(data: bytes, env: Env) -> Taken:
    """Return the scene in some bytes, with a note for all that was done to it.

    Raises `invalid_scene` for what holds no scene or cannot be read, `too_large`, `too_many_elements`, and for
    skeletons as `operation.create` does. Nothing of a file is carried out, fetched, or unpacked beyond the limits.
    """
    report, limits = Report(), env.limits
    kind, inner = _carried(data, limits, report)
    if len(inner) > limits.max_scene_bytes:
        raise inflate.beyond(limits.max_scene_bytes, "The scene")
    with uncollected(len(inner)):
        if isinstance(kind, obsidian.Note):
            taken = _scene("Obsidian Markdown", inner, loose.read(inner, report), env, report)
            return _beside(taken, kind, report)
        return _read(kind, inner, env, report)


def _carried(data: bytes, limits: Limits, report: Report) -> tuple[str | obsidian.Note, bytes]:
    """Return what the file is, and the bytes of the document in it."""
    if data.startswith(png.MAGIC):
        return "PNG", png.carried(data, limits.max_scene_bytes)
    text = loose.unmarked(data, report)
    first = text[:4096].lstrip()[:1]
    if first == b"<":
        return "SVG", svg.carried(text, limits.max_scene_bytes)
    if first and first in b"{[":
        return "", text
    if len(text) > limits.max_scene_bytes:
        raise inflate.beyond(limits.max_scene_bytes, "The file")
    try:
        note = text.decode()
    except UnicodeDecodeError:
        raise _nothing("The file is no text, no PNG and no SVG.") from None
    if not obsidian.is_one(note):
        raise _nothing("The file holds no scene." if note.strip() else "The file is empty.")
    read = obsidian.read(note, limits.max_scene_bytes, report)
    return read, read.drawing


def _nothing(sentence: str) -> SceneError:
    return refuse(
        "invalid_scene",
        sentence,
        next_action="Name an .excalidraw or .excalidrawlib file, skeletons, an Obsidian drawing, or a PNG or SVG that "
        "was exported with its scene embedded.",
        details={"reason": "no-scene"},
    )


def _read(kind: str, inner: bytes, env: Env, report: Report) -> Taken:
    value = loose.read(inner, report)
    if isinstance(value, list):
        if value and all(isinstance(one, dict) and one.keys() >= _SIGNS for one in value):
            return _scene(kind or "elements", b"", {"type": KIND, "elements": value}, env, report)
        return _skeletons(value, None, env, report)
    said = value.get("type") if isinstance(value, dict) else None
    if said == LIBRARY:
        found = items.items(value, env, report)
        made = _rebuilt({"elements": items.side_by_side(found, env)}, env)
        return _done("library", repaired(made, env, report), len(made.elements), report, tuple(found))
    if said == skeleton.KIND:
        return _skeletons(value.get("elements"), value.get("files"), env, report)
    return _scene(kind or ("copied selection" if said == _CLIPBOARD else "scene"), inner, value, env, report)


def _skeletons(elements: Any, files: Any, env: Env, report: Report) -> Taken:
    kept = picture.mended(files, report) if isinstance(files, dict) else {}
    scene = skeleton.drawn(elements, env, report, kept)
    return _done("skeletons", scene, len(elements), report)


def _scene(kind: str, inner: bytes, value: Any, env: Env, report: Report) -> Taken:
    clean = not report.notes
    base, found = _base(inner, value, env, report, clean=clean and bool(inner))
    elements = [mend.mended(one, place, env, report) for place, one in enumerate(base.elements)]
    scene = base.replaced(
        elements=[one for one in elements if one is not None], files=picture.mended(base.files, report)
    )
    scene = _labelled(repaired(scene, env, report), env, report)
    picture.tell_missing(scene.elements, scene.files, report)
    return _done(kind, scene, found, report)


def _base(inner: bytes, value: Any, env: Env, report: Report, *, clean: bool) -> tuple[Scene, int]:
    """Return the document as it was read, its own bytes kept where it is one; else one built of what can be used."""
    if not isinstance(value, dict):
        raise _nothing(f"The file holds {worded(value)}, which is no scene.")
    said = value.get("type")
    given = value.get("elements")
    if said not in (KIND, _CLIPBOARD) and not (said is None and isinstance(given, list)):
        raise _nothing(f"The document is of the type {worded(said)}, which is no scene.")
    if given is not None and not isinstance(given, list):
        raise _nothing("The document's elements are no array.")
    parts = (value.get("appState", {}), value.get("files", {}))
    sound = all(isinstance(one, dict) for one in given or ()) and all(isinstance(one, dict | None) for one in parts)
    if clean and said == KIND and sound:
        return document.load(inner, env.limits), len(given or ())
    if said != KIND:
        report.repaired("file", f"its type was {worded(said)}: {KIND!r} now")
    made = {**value, "elements": []}
    for place, one in enumerate(given or ()):
        if isinstance(one, dict):
            made["elements"].append(one)
        else:
            report.dropped(f"/elements/{place}", f"{worded(one)} is no element")
    for member in ("appState", "files"):
        if not isinstance(value.get(member, {}), dict | None):
            report.dropped(f"/{member}", f"{worded(value[member])}: it is no object")
            del made[member]
    return _rebuilt(made, env), len(given or ())


def _rebuilt(value: Mapping[str, Any], env: Env) -> Scene:
    """Return the scene of a value that no bytes stand for, spelled as the editor spells."""
    whole = {"type": KIND, "version": 2, "source": SOURCE, "elements": [], "appState": {}, "files": {}}
    whole |= {name: member for name, member in value.items() if name not in ("type", "version") and member is not None}
    return document.load(spell(whole, HOUSE, "").encode(), env.limits)


def repaired(scene: Scene, env: Env, report: Report) -> Scene:
    """Return a scene with its references, bindings, ids and order repaired, each with a note."""
    done = repair(scene, env)
    for fix in done.fixes:
        report.repaired(fix.element, fix.what)
    return done.scene


def _labelled(scene: Scene, env: Env, report: Report) -> Scene:
    """Let labels and ends that a program wrote as a skeleton has them become what a file has."""
    texts = {container_of(element) for element in scene.elements if not element.get("isDeleted")}
    wishes: list[tuple[str, dict[str, Any]]] = []
    elements: list[Element] = []
    for element in scene.elements:
        wish = _wish(element, report) if not element.get("isDeleted") else {}
        if wish:
            if "label" in wish and element["id"] in texts:
                report.dropped(element["id"], f"its label {worded(element['label'])}: it has a text already")
                del wish["label"]
            wishes.append((element["id"], wish))
            element = {name: member for name, member in element.items() if name not in ("label", *_ENDS)}  # noqa: PLW2901 - the copy takes its place
        elements.append(element)
    scene = scene.replaced(elements=elements)
    single = [(name, member, value) for name, wish in wishes for member, value in wish.items()]
    for start in range(0, len(single), MOST_OPERATIONS):
        scene = _granted(scene, single[start : start + MOST_OPERATIONS], env, report)
    return scene


def _wish(element: Element, report: Report) -> dict[str, Any]:
    wish: dict[str, Any] = {}
    label = element.get("label")
    said = label.get("text") if isinstance(label, dict) else label
    if kind_of(element) in CONTAINERS and isinstance(said, str) and said:
        wish["label"] = said
        if isinstance(label, dict):
            wish["label"] = {name: value for name, value in label.items() if name in LABEL and value is not None}
            for name in sorted(label.keys() - set(LABEL)):
                report.dropped(element["id"], f"label/{name} {worded(label[name])}: a label has none")
    for end, member in _ENDS.items() if kind_of(element) == "arrow" else ():
        target = element.get(end)
        if isinstance(target, dict) and isinstance(target.get("id"), str) and not element.get(f"{end}Binding"):
            wish[member] = target["id"]
    return wish


def _granted(scene: Scene, wishes: Sequence[tuple[str, str, Any]], env: Env, report: Report) -> Scene:
    """Return a scene with what is wished, in halves of halves where one cannot be had."""
    patches = [{"op": "update", "id": name, "patch": {member: value}} for name, member, value in wishes]
    try:
        scene = operation.apply(scene, patches, env).scene
    except SceneError as error:
        if len(wishes) > 1:
            half = len(wishes) // 2
            return _granted(_granted(scene, wishes[:half], env, report), wishes[half:], env, report)
        [(name, member, value)] = wishes
        report.dropped(name, f"its {member} {worded(value)}: {error.sentence}")
        return scene
    for name, member, value in wishes:
        report.repaired(name, f"its {member} {worded(value)} was a skeleton's: it is bound now")
    return scene


def _beside(taken: Taken, note: obsidian.Note, report: Report) -> Taken:
    """Note what the Markdown around a drawing says and the scene has not."""
    by_id = {str(element.get("id")): element for element in taken.scene.elements}
    for file, where in note.files.items():
        if file not in taken.scene.files:
            report.dropped(f"file {file[:60]}", f"{worded(where)} lies in the vault, not in the note")
    for name, text in note.texts.items():
        element = by_id.get(name)
        if element is None:
            report.dropped(name, f"the note's text {worded(text)}: the drawing has no such element")
        elif text not in (element.get("rawText"), element.get("originalText"), element.get("text")):
            report.left(name, f"the note says {worded(text)} where the drawing says {worded(element.get('text'))}")
    for name, link in note.links.items():
        if name not in by_id:
            report.dropped(name, f"the note's link {worded(link)}: the drawing has no such element")
        elif not by_id[name].get("link"):
            report.left(name, f"the note links it to {worded(link)}; the drawing does not")
    return _done(taken.format, taken.scene, taken.found, report)


def _done(kind: str, scene: Scene, found: int, report: Report, held: Sequence[Item] = ()) -> Taken:
    return Taken(kind, scene, found, tuple(report.notes), report.counts(), tuple(held))
