"""The native document: `.vectorcraft` JSON kept as the plain tree it is, with functions over it.

A document is dicts and lists, as read. Members this code does not know stay where they were, at every level and in
their order, because an existing editor opens the same file. Editing copies only the nodes on the way to a change and
shares everything else, so the document before an edit is its undo state. Coordinates are points (1 pixel = 1 point),
y points down. Every member that is read is described in `docs/reference/native-document.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector import container
from countermark.vector.container import Json, invalid
from countermark.vector.path import with_point_lists
from countermark.vector.shape import check, children_of, definition_art, holder_of, mask_art

FORMAT: Final = "vectorcraft"
VERSION: Final = 5
GENERATOR: Final = "countermark"
PRETTY_MAX: Final = 2000

_FORMATS: Final = (FORMAT, "drawcraft")
_ORDER: Final = ("format", "version", "generator", "preview", "profiles", "pdf", "document", "images")

register(Ending.FAILED, "document_newer")


@dataclass(frozen=True, slots=True)
class Document:
    """A native file: its JSON container and the bytes that follow it (large images, since version 4)."""

    file: Json
    blobs: bytes = b""

    @property
    def tree(self) -> Json:
        """The `document` member: title, artboards, layers, swatches."""
        tree: Json = self.file["document"]
        return tree


class Visit(NamedTuple):
    """A node with the nodes above it, outermost first."""

    node: Json
    parents: tuple[Json, ...]


def new(title: str, *, artboards: list[Json], layers: list[Json], next_id: int, **members: Any) -> Document:
    """Return a version 5 document with every member an editor requires; `members` are added to its tree."""
    tree: Json = {
        "version": 1,
        "title": title,
        "units": "Pixels",
        "color_mode": "Rgb",
        "artboards": artboards,
        "layers": layers,
        "swatches": [],
        "swatch_groups": [],
        "graphic_styles": [],
        "symbols": [],
        "guides": [],
        "grid": {"spacing": 72.0, "subdivisions": 8},
        "raster_effects_ppi": 72.0,
        "images": {},
        "next_id": next_id,
        **members,
    }
    return Document({"format": FORMAT, "version": VERSION, "generator": GENERATOR, "document": tree, "images": {}})


def load(data: bytes, *, what: str = "The document") -> Document:
    """Read a native file of version 1 to 5; `what` names it in errors.

    Duplicate members, NaN, infinities, a cut file and members of a wrong shape raise `artifact_invalid` with the
    place; a newer version raises `document_newer`; more than 512 MiB unpacked raises `input_too_large`.
    """
    file, blobs = container.read(data, what)
    _check_container(file, blobs, what)
    document = Document(file, blobs)
    above = check(file.get("document"), what) + 1
    held = document.tree.get("next_id", 0)
    document.tree["next_id"] = max(held, above) if type(held) is int else above
    return document


def dump(document: Document) -> bytes:
    """Write a document: same document, same bytes; two-space indent up to 2000 objects, compact above."""
    ordered = {name: document.file[name] for name in _ORDER if name in document.file}
    small = sum(1 for _ in islice(walk(document), PRETTY_MAX + 1)) <= PRETTY_MAX
    return container.write(ordered | document.file, document.blobs, indent=small)


def walk(document: Document) -> Iterator[Visit]:
    """Visit every node in paint order, parents first; the art of an opacity mask follows its owner's children."""
    for layer in document.tree["layers"]:
        yield from _visit(layer, ())


def definitions(document: Document) -> Iterator[Visit]:
    """Visit the art that is placed by name: symbols and pattern tiles."""
    for art in definition_art(document.tree):
        yield from _visit(art, ())


def find(document: Document, node_id: int) -> Visit:
    """Return the node with this id and its parents; raise `not_found`."""
    for visit in chain(walk(document), definitions(document)):
        if visit.node["id"] == node_id:
            return visit
    raise CountermarkError(
        "not_found", f"The document has no object {node_id}.", next_action="List the objects and choose an id."
    )


def rewrite(document: Document, changes: Mapping[int, Json], **members: Any) -> Document:
    """Return the document with nodes replaced by id and members of its tree set; unchanged parts are shared.

    An edited file is a version 5 file: an older one is brought up to date as a whole.
    """
    base = upgraded(document)
    tree = {**base.tree, **_mapped_tree(base.tree, lambda node: changes.get(node["id"], node)), **members}
    return Document({**base.file, "document": tree}, base.blobs)


def upgraded(document: Document) -> Document:
    """Return the document as version 5: the newer format name, `[x, y]` points, profiles out of `unknown`."""
    file, tree = document.file, document.tree
    if file["version"] == VERSION and file["format"] == FORMAT:
        return document
    if file["version"] == 1:
        tree = {**tree, **_mapped_tree(tree, with_point_lists)}
    unknown = tree.get("unknown")
    if isinstance(unknown, dict) and isinstance(unknown.get("colorProfiles"), dict):
        profiles = {name: value for name, value in unknown["colorProfiles"].items() if value is not None}
        rest = {name: value for name, value in unknown.items() if name != "colorProfiles"}
        tree = {**tree, "color_profiles": profiles, "unknown": rest}
    return Document({**file, "format": FORMAT, "version": VERSION, "document": tree}, document.blobs)


def _visit(node: Json, parents: tuple[Json, ...]) -> Iterator[Visit]:
    yield Visit(node, parents)
    below = (*parents, node)
    for child in children_of(node):
        yield from _visit(child, below)
    art = mask_art(node)
    if art is not None:
        yield from _visit(art, below)


def _mapped_tree(tree: Json, change: Callable[[Json], Json]) -> Json:
    """Return the members of a tree that hold nodes, with a change applied to every node."""
    found: Json = {"layers": _mapped(tree["layers"], change)}
    for name in ("symbols", "patterns"):
        if tree.get(name):
            found[name] = [_mapped_entry(entry, change) for entry in tree[name]]
    return found


def _mapped_entry(entry: Json, change: Callable[[Json], Json]) -> Json:
    art = entry.get("art")
    if isinstance(art, list):
        return {**entry, "art": _mapped(art, change)}
    return {**entry, "art": _mapped_node(art, change)} if isinstance(art, dict) else entry


def _mapped(nodes: list[Json], change: Callable[[Json], Json]) -> list[Json]:
    found = [_mapped_node(node, change) for node in nodes]
    return nodes if all(after is before for after, before in zip(found, nodes, strict=True)) else found


def _mapped_node(node: Json, change: Callable[[Json], Json]) -> Json:
    node = change(node)
    held = children_of(node)
    if held:
        below = _mapped(held, change)
        if below is not held:
            node = {**node, "kind": {**node["kind"], holder_of(node): below}}
    art = mask_art(node)
    if art is not None:
        changed = _mapped_node(art, change)
        if changed is not art:
            node = {**node, "mask": {**node["mask"], "art": changed}}
    return node


def _check_container(file: Json, blobs: bytes, what: str) -> None:
    if file.get("format") not in _FORMATS:
        message = f"{what} is not a native document: its format is {file.get('format')!r}."
        raise invalid(message)
    version = file.get("version")
    if type(version) is not int or version < 1:
        message = f"{what} has no usable version: {version!r}."
        raise invalid(message)
    if version > VERSION:
        raise CountermarkError(
            "document_newer",
            f"{what} is in version {version} of the format; versions 1 to {VERSION} are known here.",
            next_action="Update countermark, or save the document for an older version in the editor it came from.",
            details={"version": version, "known": VERSION},
        )
    images = file.get("images", {})
    for key, image in images.items() if isinstance(images, dict) else ():
        place = image.get("blob") if isinstance(image, dict) else None
        if place is not None and not _inside(place, len(blobs)):
            message = f"{what}: image {key!r} points outside the data after the JSON; the file is cut or damaged."
            raise invalid(message)
    if not isinstance(images, dict):
        message = f"{what}: images is not an object."
        raise invalid(message)


def _inside(place: Any, size: int) -> bool:
    match place:
        case [int(offset), int(length)]:
            return offset >= 0 and length >= 0 and offset + length <= size
    return False
