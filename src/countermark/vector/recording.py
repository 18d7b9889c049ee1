"""A kit's record: asked, allowed by, changed, checked by whom, not checked; from verdicts to the one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel import fence
from countermark.kernel.adapter import Intent
from countermark.kernel.canon import sha256_hex
from countermark.kernel.proof import Engine as KernelEngine
from countermark.raster.region import cutting
from countermark.record.page import Check, Engine, Exhibit, Fact, Identity, Picture, Record, Unchecked, render
from countermark.vector import operation, swatch, wording
from countermark.vector.document import Document
from countermark.vector.kit import PAGE, PlannedBoard

if TYPE_CHECKING:
    from countermark.vector.exchange import Worst
    from countermark.vector.observation import Seen

__all__ = ["PAGE", "Recoloured", "Subject", "changes", "named", "page"]

_NAMED: Final = 12
_SHOWN: Final = 3  # boxes in which engines differ most
_CUT: Final = 64  # pixels of the board that is measured, about the middle of such a box
_ZOOM: Final = 4


@dataclass(frozen=True, slots=True)
class Subject:
    """What a record is about: the attempt, the document, its boards and their files, and the time it was seen."""

    intent: Intent
    document: Document
    boards: Sequence[PlannedBoard]
    files: Mapping[str, bytes]
    at_ms: int


@dataclass(frozen=True, slots=True)
class Recoloured:
    """One swatch that has another colour than in the previous kit: who followed, who only looks alike."""

    name: str
    before: str
    after: str
    followed: tuple[str, ...]
    lookalikes: tuple[str, ...]


def changes(previous: Document | None, document: Document) -> tuple[Recoloured, ...]:
    """Return the swatches whose colour differs from the previous kit's document."""
    if previous is None:
        return ()
    old = {one.name: one.colour for one in swatch.swatches(previous)}
    found = []
    for one in swatch.swatches(document):
        was = old.get(one.name)
        if was is not None and one.colour is not None and was != one.colour:
            alike = [use for use in swatch.uses(document) if use.colour == was and use.swatch != one.name]
            found.append(Recoloured(one.name, was, one.colour, named(one.uses), named(alike)))
    return tuple(found)


def named(uses: Sequence[swatch.Use]) -> tuple[str, ...]:
    """Return the names of objects, or their ids where they have none, each once."""
    return tuple(dict.fromkeys(use.name or f"object {use.object_id}" for use in uses))


def page(
    about: Subject,
    seen: Sequence[Seen],
    gaps: Sequence[tuple[str, str]],
    before: Mapping[str, bytes | None],
    recoloured: Sequence[Recoloured],
    worst: Sequence[Worst] = (),
) -> bytes:
    """Return the record page of a kit."""
    intent, document = about.intent, about.document
    ref = operation.input_of(intent.plan, operation.DOCUMENT)
    pictures = _pictures(about, before)
    title = str(document.tree.get("title") or ref.version)
    heading = f"Kit of {title}"
    if recoloured:
        heading = "Set " + "; ".join(f"{one.name} from {one.before} to {one.after}" for one in recoloured)
    source = str(intent.plan.payload.get("document", ""))
    asked = [Fact("Command", str(intent.plan.payload.get("command", "vector kit"))), Fact("Document", source)]
    asked += [Fact("At revision", fence.short(ref.version))]
    grant = intent.grant
    allowed = (
        Fact("Grant", f"{grant['id']}, issued by {grant['issuer']} to {grant['holder']}"),
        Fact("Effects", ", ".join(one or "everything" for one in grant["effects"])),
        Fact("Within", ", ".join(_reach(one) for one in grant["resources"])),
        Fact("Acceptance", _acceptance(grant, intent)),
    )
    return render(
        Record(
            title=heading,
            asked=tuple(asked),
            allowed_by=allowed,
            changed=_changed(pictures, recoloured, document),
            checked=tuple(_check(row) for row in seen),
            not_checked=tuple(Unchecked(what, why) for what, why in gaps),
            identity=Identity(
                task=intent.task,
                key=intent.key,
                revision_before=intent.expected[intent.plan.resources[0]],
                revision_after=f"document {ref.version}",
                engines=_engines(seen),
                at_ms=about.at_ms,
            ),
            pictures=tuple(pictures),
            exhibits=_exhibits(worst),
            figures=(
                Fact("boards", str(len(about.boards))),
                Fact("files", str(len(about.files))),
                Fact("other engines looked", str(len(_others(seen)))),
            ),
        )
    )


def _others(seen: Sequence[Seen]) -> set[str]:
    """Return the engines that looked and are none of ours: our own checks name themselves so."""
    observers = [row.verdict.observer for row in seen]
    return {one.digest for one in observers if one.digest and not one.label.startswith("countermark ")}


def _reach(prefix: str) -> str:
    """Return a resource prefix as people say it."""
    if not prefix:
        return "everything"
    kind, _, rest = prefix.partition(":")
    return f"{kind} {rest}" if rest else f"every {kind} of this workspace"


def _acceptance(grant: Mapping[str, Any], intent: Intent) -> str:
    if grant["acceptance"] == "person" or intent.plan.payload.get("acceptLoss"):
        return "needs a person, who sees this evidence first"
    return "by the checks below; every effect here can be reversed"


def _pictures(about: Subject, before: Mapping[str, bytes | None]) -> list[Picture]:
    pictures = []
    for board in about.boards:
        name = board.file("png")
        after, old = about.files[name], before.get(name)
        status = "new" if old is None else "unchanged, byte-equal" if old == after else "changed"
        label = f"{board.artboard_name or 'Artboard'} {_row(board)}"
        pictures.append(
            Picture(label, board.width, board.height, old, after, status, name, f"sha256:{sha256_hex(after)}")  # type: ignore[arg-type]
        )
    return pictures


def _exhibits(worst: Sequence[Worst]) -> tuple[Exhibit, ...]:
    """Return the boxes in which engines differ most, each as the native file and the derivative show it."""
    found = []
    for one in worst[:_SHOWN]:
        engine = "resvg, of the SVG" if one.format == "svg" else "pdfium, of the PDF"
        views = (("Skia, of the native file", one.native), (engine, one.seen))
        pictures = tuple((label, cutting(picture, one.region.box, _CUT, _ZOOM)) for label, picture in views)
        share = f"{one.region.off} of {one.region.painted} pixels painted in its box are off"
        found.append(Exhibit(f"{one.name or f'object {one.object_id}'}, artboard {one.artboard}", share, pictures))
    return tuple(found)


def _row(board: PlannedBoard) -> str:
    """Return what a board is called beside its artboard's name: its size, and its variant where it is another one."""
    size = str(board.width) if board.width == board.height else f"{board.width} x {board.height}"
    return size if board.variant == "full-colour" else f"{board.variant} {size}"


def _changed(pictures: Sequence[Picture], recoloured: Sequence[Recoloured], document: Document) -> tuple[Fact, ...]:
    facts = []
    for one in recoloured:
        facts.append(Fact(f"Swatch {one.name}", f"{one.before} → {one.after}"))
        facts.append(Fact("Followed, because bound", _listed(one.followed)))
        facts.append(Fact("Same colour, not bound, untouched", _listed(one.lookalikes)))
    counts = {
        status: sum(p.status == status for p in pictures) for status in ("new", "changed", "unchanged, byte-equal")
    }
    facts.append(Fact("Boards", ", ".join(f"{count} {status}" for status, count in counts.items() if count)))
    if not recoloured:
        tokens = [f"{one.name} {one.colour}" for one in swatch.swatches(document) if one.colour]
        facts.append(Fact("Swatches", ", ".join(tokens) or "none is bound"))
    return tuple(facts)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return (", ".join(names[:_NAMED]) or "none") + (f" and {more} more" if more > 0 else "")


def _check(row: Seen) -> Check:
    found = row.verdict
    return Check(
        check=found.check,
        subject=row.subject,
        status=found.status.value,
        maker=found.maker.label,
        observer=found.observer.label,
        measured=wording.measured(found),
        threshold=wording.threshold(found),
    )


def _engines(seen: Sequence[Seen]) -> tuple[Engine, ...]:
    found: dict[str, KernelEngine] = {}
    for row in seen:
        for engine in (row.verdict.maker, row.verdict.observer):
            if engine.digest:
                found.setdefault(engine.digest, engine)
    return tuple(Engine(one.label, "", f"sha256:{one.digest}") for one in found.values())
