"""What is checked of each operation's stage, by whom, and the record page that says so.

The observations are `checks`, `reopening` and `brand`; this module only hands them the bytes as they lie in the stage
and keeps what they saw together with the board it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from countermark.kernel.adapter import Context, Intent, Outcome, StagedFile, Verification
from countermark.kernel.canon import parse_strict, sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.place import shown
from countermark.kernel.proof import Status, Verdict
from countermark.kernel.publish import place
from countermark.raster import apart
from countermark.vector import (
    brand,
    checks,
    exchange,
    identity,
    makers,
    observation,
    operation,
    origin,
    recolour,
    reopening,
    swatch,
    token,
)
from countermark.vector import document as native
from countermark.vector.artboard import artboard, artboards
from countermark.vector.colour import hex_of
from countermark.vector.document import Document
from countermark.vector.kit import Missing, PlannedBoard, boards_for, files_for, media_type
from countermark.vector.observation import Seen
from countermark.vector.operation import ApplyTokens, Bind, Change, Import, Kit, Operation
from countermark.vector.variant import DERIVED

CAP: Final = 512 << 20
JUDGED: Final = "judged"
"""A folder of the stage: pictures drawn for the checks alone, never published."""

VARIANTS: Final = "variants.json"
"""In that folder: which variants in other inks a document does not have, and why."""

JUDGED_SIDE: Final = 1024
PICTURE_LOSS: Final = "picture"
"""The name under which a person accepts that the picture itself differs from the original."""

_UNSEEN: Final = (
    ("other programs", "no browser and no editor opened these files here; resvg, Pillow and expat did"),
    ("print", "the colours are sRGB; no ink, paper or press profile was looked at"),
)

_SHARED_READING: Final = (
    "the colour reader",
    f"the swatch editor and the guard over it share {len(makers.SHARED)} sources, so a mistake there would escape both",
)


def judged_boards(document: Document) -> list[PlannedBoard]:
    """Return the pictures that are drawn only to be compared with the originals."""
    return [
        PlannedBoard(f"artboard-{one.artboard}", one.artboard, "", "full-colour", JUDGED_SIDE, JUDGED_SIDE, ("png",))
        for one in origin.sources(document)
    ]


def missing(stage: Root) -> list[Missing]:
    """Return the variants that the engine says a document does not have; raise `artifact_invalid` for no such list."""
    try:
        rows = parse_strict(stage.read(f"{JUDGED}/{VARIANTS}", cap=CAP), what="The list of variants")["missing"]
        found = [Missing(row["artboard"], row["variant"], row["reason"]) for row in rows]
    except (KeyError, TypeError) as error:
        raise CountermarkError(
            "artifact_invalid", "The engine's list of variants is none.", next_action="Report this defect."
        ) from error
    if any(one.variant not in DERIVED for one in found):
        raise CountermarkError(
            "artifact_invalid", "The engine leaves out a board that every kit has.", next_action="Report this defect."
        )
    return found


def of_document(wanted: Operation, intent: Intent, outcome: Outcome, context: Context, stage: Root) -> Verification:
    """Check a document that was imported or recoloured."""
    name = place(intent.plan.resources[0])
    data = stage.read(name, cap=CAP)
    maker = makers.importer() if isinstance(wanted, Import) else makers.editor()
    announced = {place(file.resource): file.digest for file in outcome.files}
    seen = [
        checks.digests({name: data}, announced, maker),
        reopening.native_reopens(data, maker),
    ]
    document = native.load(data)
    gaps: tuple[tuple[str, str], ...] = ()
    if isinstance(wanted, Import):
        known = _stored_originals(document, context)
        seen += [row.verdict for row in _originals(document, known, stage, context, lambda _: False)]
    elif isinstance(wanted, Change):
        seen.append(_brand(wanted, intent, context, document))
        gaps = (_SHARED_READING,)
    return Verification(tuple(seen), not_checked=gaps)


def _brand(wanted: Change, intent: Intent, context: Context, after: Document) -> Verdict:
    ref = operation.input_of(intent.plan, operation.DOCUMENT)
    before_bytes = context.store.get(ref.digest, CAP)
    before = native.load(before_bytes)
    names = [] if isinstance(wanted, ApplyTokens) else [wanted.swatch]
    if isinstance(wanted, ApplyTokens):
        tokens = context.store.get(operation.input_of(intent.plan, operation.TOKENS).digest, token.MAX_BYTES)
        names = [one.name for one in token.read(tokens).colours]
    report = brand.check(before, after, names, binding=isinstance(wanted, Bind))
    faults = [f"{fault['reason']}: {fault['objectId']}" for fault in report["unexpectedDependencies"]]
    return Verdict(
        check="brand_dependencies",
        status=Status.PASSED if report["status"] == "passed" else Status.FAILED,
        required=True,
        maker=makers.editor(),
        observer=makers.guard(),
        subjects=(sha256_hex(before_bytes), report["afterSha256"]),
        measured={
            "consumers": len(report["consumerIds"]),
            "affected": len(report["affectedObjectIds"]),
            "unexpected": len(faults),
            "artboardsChanged": int(report["artboardsChanged"]),
        },
        threshold={"unexpected": 0, "artboardsChanged": 0},
        reason="; ".join(faults[:3]),
        source="seed 1 §5: only what is bound to a token may change with it",
    )


def _originals(
    document: Document, originals: Mapping[str, bytes], stage: Root, context: Context, required: Callable[[int], bool]
) -> Iterator[Seen]:
    """Compare each artboard's picture of the document as imported with its original, seen by resvg in a child."""
    render = partial(apart.render, context.launch, context.clock)
    for source in origin.sources(document):
        name = f"{JUDGED}/artboard-{source.artboard}.png"
        box = artboard(document, source.artboard).box
        board = checks.Board(
            f"artboard-{source.artboard}",
            JUDGED_SIDE,
            JUDGED_SIDE,
            stage.read(name, cap=CAP) if stage.exists(name) else None,
            None,
            makers.drawer(),
            makers.writer(),
        )
        found = checks.original(
            originals.get(source.sha256),
            board,
            required=required(source.artboard),
            unstated=(box.width, box.height),
            render=render,
        )
        yield Seen(f"{source.name}, artboard {source.artboard}", found)


def of_kit(wanted: Kit, intent: Intent, outcome: Outcome, context: Context, stage: Root) -> Verification:
    """Check a kit board by board, hold its losses against what was accepted, and render its record page.

    Raises `artifact_invalid` when the engine made other files than the plan's boards. A kit with a picture that does
    not decode has no page: nothing of it is published.
    """
    from countermark.vector import recording  # noqa: PLC0415 - brings the page's template engine

    ref = operation.input_of(intent.plan, operation.DOCUMENT)
    data = context.store.get(ref.digest, CAP)
    document = native.load(data)
    folder = place(intent.plan.resources[0])
    without = missing(stage)
    boards = boards_for(document, without)
    name = operation.native_name(intent.plan)
    _as_planned(outcome, boards, [file.name for file in files_for(document, name)])
    files = {file.name: stage.read(f"{folder}/{file.name}", cap=CAP) for file in outcome.files}
    before = operation.before(intent.plan)
    lost = origin.losses(document)
    picture = PICTURE_LOSS in wanted.accept_loss
    covered, open_losses = origin.accepted(lost, [n for n in wanted.accept_loss if n != PICTURE_LOSS])
    excused = {board for one in covered for board in one.artboards}
    announced = {file.name: file.digest for file in outcome.files}
    named = [one.name for one in lost]
    # The list comes before the pictures: what was lost is why they differ, and the first failure is the one told.
    seen = [
        Seen("every file", checks.digests(files, announced, makers.drawer())),
        Seen("import report", checks.losses(named, [one.name for one in open_losses], makers.importer(), data)),
    ]
    seen += observation.of_boards(boards, files)
    seen += observation.of_derivatives(document, name, data, files)
    seen += _originals(
        origin.as_imported(document),
        _stored_originals(document, context),
        stage,
        context,
        lambda board: not picture and board not in excused,
    )
    last = previous(intent, context)
    kept = unaffected(document, last)
    if kept is not None and before:
        seen.append(Seen("boards without a consumer", _byte_equal(boards, kept, files, before)))
    gaps = [*_UNSEEN, *((one.name, f"lost and accepted by name: {one.reason}") for one in covered)]
    gaps += [(f"{one.variant} of artboard {one.artboard}", f"not derivable: {one.reason}") for one in without]
    if picture:
        gaps.append((PICTURE_LOSS, "a difference from the original was accepted by name"))
    if not origin.sources(document):
        gaps.append(("the original", "this document was not imported from an SVG"))
    found, verdict = observation.of_exchange(document, name, data, files)
    seen.append(Seen(exchange.REPORT, verdict))
    verdicts = tuple(row.verdict for row in seen)
    if any(one.check == "png_decodes" and one.status is not Status.PASSED for one in verdicts):
        return Verification(verdicts, not_checked=tuple(gaps))
    page = recording.page(
        recording.Subject(intent, document, boards, files, context.clock.now_ms()),
        seen,
        gaps,
        {name: _stored(context, digest) for name, digest in before.items()},
        recording.changes(last, document),
        () if found is None else found.worst,
    )
    ours = {recording.PAGE: page} | ({} if found is None else {exchange.REPORT: found.bytes()})
    made = tuple(_made(intent, stage, folder, name, body) for name, body in ours.items())
    return Verification(verdicts, files=made, not_checked=tuple(gaps), needs_person=bool(covered) or picture)


def _made(intent: Intent, stage: Root, folder: str, name: str, data: bytes) -> StagedFile:
    """Write what the checks make themselves; a second look at the same stage writes it anew."""
    path = f"{folder}/{name}"
    if stage.exists(path):
        stage.replace(path, data)
    else:
        stage.create(path, data)
    return StagedFile(intent.plan.resources[0], name, sha256_hex(data), len(data), media_type(name))


def _as_planned(outcome: Outcome, boards: Sequence[PlannedBoard], others: Sequence[str]) -> None:
    """Hold the files that the engine says it made against those of the plan: it cannot add one, nor leave one out."""
    planned = {name for board in boards for name in board.files} | set(others)
    wrong = sorted(planned ^ {file.name for file in outcome.files})
    if wrong:
        raise CountermarkError(
            "artifact_invalid",
            f"The engine made other files than the boards of this kit: {', '.join(map(shown, wrong[:3]))}.",
            next_action="Run it again; if it happens again, the engine is defective.",
            details={"files": wrong[:20]},
        )


def _stored_originals(document: Document, context: Context) -> dict[str, bytes]:
    found = {one.sha256: _stored(context, one.sha256) for one in origin.sources(document)}
    return {digest: data for digest, data in found.items() if data is not None}


def unaffected(document: Document, previous: Document | None) -> frozenset[int] | None:
    """Return the artboards on which nothing changed but for swatches, or None when that cannot be told.

    Putting the new colours into the previous document must give this document; then only artboards on which a changed
    swatch paints may differ.
    """
    if previous is None:
        return None
    touched: set[int] = set()
    recoloured = previous
    for entry in list(swatch.entries(document)):
        known = next((old for old in swatch.entries(previous) if old.get("name") == entry.get("name")), None)
        if known is None or "color" not in entry.get("paint", {}):
            continue
        if known.get("paint") != entry.get("paint"):
            colour = hex_of(entry["paint"]["color"])
            if colour is None or known.get("paint", {}).get("type") != "solid":
                return None
            recoloured = recolour.set_colour(recoloured, entry["name"], colour)[0]
            touched |= set(swatch.affected_artboards(document, entry["name"]))
    if native.dump(recoloured) != native.dump(document):
        return None
    return frozenset(board.id for board in artboards(document)) - touched


def _byte_equal(
    boards: Sequence[PlannedBoard], kept: frozenset[int], files: Mapping[str, bytes], before: Mapping[str, str]
) -> Verdict:
    names = [name for board in boards if board.artboard in kept for name in board.files if name in before]
    changed = [name for name in names if sha256_hex(files[name]) != before[name]]
    return Verdict(
        check="unaffected_boards",
        status=Status.FAILED if changed else Status.PASSED,
        required=True,
        maker=makers.drawer(),
        observer=identity.interpreter(),
        subjects=tuple(sha256_hex(files[name]) for name in names),
        measured={"files": len(names), "byteEqual": len(names) - len(changed)},
        threshold={"byteEqual": len(names)},
        reason=f"changed without a reason: {', '.join(changed[:3])}" if changed else "",
        source="seed 1 §5: unrelated outputs remain unchanged",
    )


def previous(intent: Intent, context: Context) -> Document | None:
    """Return the document of the last kit in this folder, None when there is none or it is no longer kept."""
    for ref in intent.plan.inputs:
        if ref.name == operation.PREVIOUS:
            data = _stored(context, ref.digest)
            return native.load(data) if data is not None else None
    return None


def _stored(context: Context, digest: str) -> bytes | None:
    try:
        return context.store.get(digest, CAP)
    except CountermarkError as error:
        if error.code != "not_found":
            raise
        return None
