"""The vector domain's adapter: imports and exports run in the engine child, brand changes here; all of it staged.

Nothing this adapter does touches the user's files: everything is written into the stage of one attempt, checked by
other engines, and published by the kernel. A lost reply is settled by looking whether every file that the plan calls
for stands in the stage: the engine writes each of them whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from countermark.kernel.adapter import (
    Adapter,
    Context,
    Effect,
    Estimate,
    Finding,
    Intent,
    Outcome,
    StagedFile,
    Verification,
)
from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.publish import place
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.vector import document as native
from countermark.vector import operation, origin, palette, recolour, token, verification
from countermark.vector.document import Document
from countermark.vector.kit import Missing, PlannedBoard, boards_for, files_for, media_type
from countermark.vector.operation import ApplyTokens, Bind, Change, Import, Kit, Operation
from countermark.vector.session import EngineRun, Late, Lost, runtime
from countermark.vector.tasks import MAX_BOARDS
from countermark.vector.verification import JUDGED, VARIANTS

INPUT_CAP: Final = 512 << 20
ENGINE_SECONDS: Final = 120
SECONDS_PER_MIB: Final = 10  # of what may be written; a drawing of 20,000 paths, 1.5 MiB, takes 12 s to import and draw
SECONDS_PER_BOARD: Final = 2
NATIVE_TYPE: Final = "application/vnd.vectorcraft+json"
_LISTED: Final = 200
_EFFECT: Final = Effect(
    operation.EFFECT, EffectKind.STAGED, EffectClass.IDEMPOTENT_WRITE, reversible=True, required=("digests",)
)


class VectorAdapter(Adapter):
    """Brand documents: import, bind, recolour, kit."""

    name = "vector"

    def __init__(self, *, engine_seconds: int = ENGINE_SECONDS) -> None:
        """Take the deadline of one engine run in seconds; its expiry is an unknown outcome, not a failure."""
        self._seconds = engine_seconds

    def effects(self) -> Mapping[str, Effect]:
        """Return the one effect: a write of documents and kits."""
        return {operation.EFFECT: _EFFECT}

    def capabilities(self) -> RuntimeIdentity:
        """Return the engine's identity as it is installed now."""
        return runtime()

    def validate(self, plan: Plan) -> None:
        """Raise unless the plan is one of the four operations, whole."""
        operation.read(plan)

    def estimate(self, plan: Plan) -> Estimate:
        """Return what a plan may use at the most.

        Bytes are pictures uncompressed and documents a few times their input; seconds are those after which the engine
        is stopped, so that a grant's limit on them holds whatever the engine does. A recolouring starts no engine.
        """
        engine = not isinstance(operation.read(plan), Change)
        return Estimate(bytes=operation.size(plan), seconds=self._allowed(plan) if engine else 0)

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Do one operation in the stage."""
        wanted = operation.read(intent.plan)
        try:
            if isinstance(wanted, Import):
                return self._import(wanted, intent, context)
            if isinstance(wanted, Kit):
                return self._kit(intent, context)
            return _recolour(wanted, intent, context)
        except Late as late:
            return self._late(intent, context, str(late))
        except Lost as lost:
            return Outcome.unknown(f"The engine's reply was lost: {lost}.")

    def _late(self, intent: Intent, context: Context, reason: str) -> Outcome:
        """Look at what an engine left that was stopped when its time was up: the same again would take as long."""
        if self.reconcile(intent, context).executed is Executed.YES:
            return Outcome.unknown(f"The engine's reply was lost: {reason}.")
        return Outcome.failed(
            CountermarkError(
                "deadline_exceeded",
                f"The engine was stopped: {reason}.",
                next_action="Simplify the drawing, or run it again when the machine is less busy.",
            )
        )

    def _import(self, wanted: Import, intent: Intent, context: Context) -> Outcome:
        source = operation.input_of(intent.plan, operation.SOURCE)
        target = place(intent.plan.resources[0])
        with Root(context.stage) as stage:
            context.store.copy_to(source.digest, stage, "source.svg")
            call = {
                "input": "source.svg",
                "sha256": source.digest,
                "output": target,
                "name": wanted.source,
            }
            if wanted.joins:
                ref = operation.input_of(intent.plan, operation.DOCUMENT)
                context.store.copy_to(ref.digest, stage, f"into{operation.SUFFIX}")
                call |= {"into": f"into{operation.SUFFIX}", "into_sha256": ref.digest}
            _make_parent(stage, target)
            with EngineRun(context, intent, self._allowed(intent.plan)) as engine:
                made = engine.call("import_svg", call)["document"]
                document = native.load(stage.read(target, cap=INPUT_CAP))
                _judged(engine, stage, document)
            return Outcome(files=(_document_file(intent, made["sha256"], made["size"]),), facts=import_facts(document))

    def _kit(self, intent: Intent, context: Context) -> Outcome:
        ref = operation.input_of(intent.plan, operation.DOCUMENT)
        document = native.load(context.store.get(ref.digest, INPUT_CAP))
        folder = place(intent.plan.resources[0])
        with Root(context.stage) as stage:
            context.store.copy_to(ref.digest, stage, f"document{operation.SUFFIX}")
            stage.make_dir(folder)
            with EngineRun(context, intent, self._allowed(intent.plan)) as engine:
                stage.make_dir(JUDGED)
                variants = {"kind": "variants", "folder": JUDGED, "name": VARIANTS, "parts": []}
                staged = f"document{operation.SUFFIX}"
                engine.call("compile_kit", {"document": staged, "sha256": ref.digest, "files": [variants]})
                missing = verification.missing(stage)
                boards = boards_for(document, missing)
                kept = _reused(intent, context, stage, document, boards)
                rows = _drawn(
                    engine,
                    f"document{operation.SUFFIX}",
                    ref.digest,
                    [_board(board, f"{folder}/{board.id}") for board in boards if board.id not in kept],
                )
                rows += _compiled(
                    engine,
                    f"document{operation.SUFFIX}",
                    ref.digest,
                    [
                        {"kind": file.kind, "folder": folder, "name": file.name, "parts": list(file.parts)}
                        for file in files_for(document, operation.native_name(intent.plan))
                    ],
                )
                _judged(engine, stage, document)
            reused = [row for rows_ in kept.values() for row in rows_]
            made = reused + [(row["name"].removeprefix(f"{folder}/"), row["sha256"], row["size"]) for row in rows]
            files = tuple(
                StagedFile(intent.plan.resources[0], name, sha256, size, media_type(name))
                for name, sha256, size in made
            )
            return Outcome(files=files, facts=kit_facts(document, missing) | {"reused": len(kept)})

    def _allowed(self, plan: Plan) -> int:
        """Return the seconds one run may take: more for a large input, and for many boards."""
        boards = operation.boards(plan)
        return self._seconds + (operation.size(plan) >> 20) * SECONDS_PER_MIB + boards * SECONDS_PER_BOARD

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        """Look whether all that the plan calls for stands in the stage; the engine writes files whole or not at all.

        A stage that cannot be read is not complete either: nothing of it was published, and it may be made again.
        """
        try:
            return self._look(intent, context)
        except CountermarkError as error:
            return Finding(Executed.NO, {"stage": "cannot be read", "error": error.as_json()})

    def _look(self, intent: Intent, context: Context) -> Finding:
        wanted = operation.read(intent.plan)
        resource = intent.plan.resources[0]
        root = place(resource)
        with Root(context.stage) as stage:
            names = self._expected(intent, context, wanted, stage)
            missing = [name for name in names if not stage.exists(f"{root}/{name}" if name else root)]
            if missing or not names:
                return Finding(Executed.NO, {"stage": "is not complete", "missing": missing[:10]})
            files = []
            for name in names:
                data = stage.read(f"{root}/{name}" if name else root, cap=INPUT_CAP)
                kind = media_type(name) if name else NATIVE_TYPE
                files.append(StagedFile(resource, name, sha256_hex(data), len(data), kind))
            facts = self._facts(wanted, intent, context, stage)
        if facts is None:
            return Finding(Executed.NO, {"stage": "holds another document than this operation makes"})
        return Finding(
            Executed.YES, {"stage": "is complete", "files": len(files)}, Outcome(files=tuple(files), facts=facts)
        )

    def _expected(self, intent: Intent, context: Context, wanted: Operation, stage: Root) -> list[str]:
        """Return the files below the resource that have to be there; none while what is compared with is missing."""
        if isinstance(wanted, Change):
            return [""]
        document = self._document(wanted, intent, context, stage)
        if document is None:
            return []
        judged = verification.judged_boards(document)
        if not all(stage.exists(f"{JUDGED}/{board.file('png')}") for board in judged):
            return []
        if not isinstance(wanted, Kit):
            return [""]
        if not stage.exists(f"{JUDGED}/{VARIANTS}"):
            return []
        boards = [name for board in boards_for(document, verification.missing(stage)) for name in board.files]
        return boards + [file.name for file in files_for(document, operation.native_name(intent.plan))]

    def _document(self, wanted: Import | Kit, intent: Intent, context: Context, stage: Root) -> Document | None:
        """Return the document that pictures are drawn from: a kit's own, or the one that an import made."""
        if isinstance(wanted, Kit):
            ref = operation.input_of(intent.plan, operation.DOCUMENT)
            return native.load(context.store.get(ref.digest, INPUT_CAP))
        target = place(intent.plan.resources[0])
        return native.load(stage.read(target, cap=INPUT_CAP)) if stage.exists(target) else None

    def _facts(self, wanted: Operation, intent: Intent, context: Context, stage: Root) -> dict[str, Any] | None:
        """Return what `submit` would have said of what stands in the stage; None when it would have made another."""
        if isinstance(wanted, Change):
            made, facts = _recoloured(wanted, intent, context)
            return facts if made == stage.read(place(intent.plan.resources[0]), cap=INPUT_CAP) else None
        document = self._document(wanted, intent, context, stage)
        if document is None:
            return None
        return kit_facts(document, verification.missing(stage)) if isinstance(wanted, Kit) else import_facts(document)

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        """Have the stage observed by other engines; a kit's record page is made from what they saw."""
        wanted = operation.read(intent.plan)
        with Root(context.stage) as stage:
            if isinstance(wanted, Kit):
                return verification.of_kit(wanted, intent, outcome, context, stage)
            return verification.of_document(wanted, intent, outcome, context, stage)


def _board(board: PlannedBoard, output: str) -> dict[str, Any]:
    return {
        "id": board.id,
        "artboard": board.artboard,
        "variant": board.variant,
        "width": board.width,
        "height": board.height,
        "formats": list(board.formats),
        "output": output,
    }


def _drawn(engine: EngineRun, document: str, sha256: str, boards: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Have boards drawn, as many in one call as it takes, and return the rows of all files."""
    rows: list[dict[str, Any]] = []
    for start in range(0, len(boards), MAX_BOARDS):
        part = list(boards[start : start + MAX_BOARDS])
        rows += engine.call("render_kit", {"document": document, "sha256": sha256, "boards": part})["outputs"]
    return rows


def _compiled(engine: EngineRun, document: str, sha256: str, files: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Have the files made that boards are part of, as many in one call as it takes, and return their rows."""
    rows: list[dict[str, Any]] = []
    for start in range(0, len(files), MAX_BOARDS):
        part = list(files[start : start + MAX_BOARDS])
        rows += engine.call("compile_kit", {"document": document, "sha256": sha256, "files": part})["outputs"]
    return rows


def _reused(
    intent: Intent, context: Context, stage: Root, document: Document, boards: Sequence[PlannedBoard]
) -> dict[str, list[tuple[str, str, int]]]:
    """Take boards that nothing concerned from the last kit by their digests; return their files by board.

    The last kit has to be of this very engine, and its document this one but for swatches that do not reach the board.
    """
    if not any(ref.version == operation.MADE_BY + intent.runtime.digest for ref in intent.plan.inputs):
        return {}
    standing = verification.unaffected(document, verification.previous(intent, context)) or frozenset()
    before, folder = operation.before(intent.plan), place(intent.plan.resources[0])
    found = {}
    for board in boards:
        digests = {name: before.get(name, "") for name in board.files}
        if board.artboard in standing and all(one and context.store.has(one) for one in digests.values()):
            for name, digest in digests.items():
                context.store.copy_to(digest, stage, f"{folder}/{name}")
            sizes = {name: len(stage.read(f"{folder}/{name}", cap=INPUT_CAP)) for name in digests}
            found[board.id] = [(name, digest, sizes[name]) for name, digest in digests.items()]
    return found


def _judged(engine: EngineRun, stage: Root, document: Document) -> None:
    """Draw the pictures that the originals are compared with, from the document as it is saved and opened again."""
    stage.make_dir(JUDGED)
    shown = origin.as_imported(document)
    boards = verification.judged_boards(shown)
    if boards:
        name = f"as-imported{operation.SUFFIX}"
        sha256 = stage.create(name, native.dump(shown))
        _drawn(engine, name, sha256, [_board(board, f"{JUDGED}/{board.id}") for board in boards])


def _recolour(wanted: Change, intent: Intent, context: Context) -> Outcome:
    """Change the document's colours here: pure functions over its tree, guarded by `brand`."""
    data, facts = _recoloured(wanted, intent, context)
    target = place(intent.plan.resources[0])
    with Root(context.stage) as stage:
        _make_parent(stage, target)
        made = stage.create(target, data)
    return Outcome(files=(_document_file(intent, made, len(data)),), facts=facts)


def _recoloured(wanted: Change, intent: Intent, context: Context) -> tuple[bytes, dict[str, Any]]:
    ref = operation.input_of(intent.plan, operation.DOCUMENT)
    document = native.load(context.store.get(ref.digest, INPUT_CAP))
    if isinstance(wanted, ApplyTokens):
        tokens = context.store.get(operation.input_of(intent.plan, operation.TOKENS).digest, token.MAX_BYTES)
        changed, made = palette.apply(document, token.read(tokens))
        return native.dump(changed), {"report": made.as_json()}
    if isinstance(wanted, Bind):
        only = None if wanted.only is None else set(wanted.only)
        changed, report = recolour.bind(
            document, wanted.swatch, wanted.colour, only=only, leave=set(wanted.leave), places=set(wanted.places)
        )
        changed = origin.with_imported_colour(changed, wanted.swatch, report.colour)
    else:
        changed, report = recolour.set_colour(document, wanted.swatch, wanted.colour)
    return native.dump(changed), {"report": report.as_json()}


def _document_file(intent: Intent, sha256: str, size: int) -> StagedFile:
    return StagedFile(intent.plan.resources[0], "", sha256, size, NATIVE_TYPE)


def import_facts(document: Document) -> dict[str, Any]:
    """Return what an import says of itself, read from the document it made."""
    said = origin.remembered(document)
    losses = said.get("losses", [])
    return {"losses": losses[:_LISTED], "lossesTotal": len(losses), "notesTotal": len(said.get("notes", []))}


def kit_facts(document: Document, missing: Sequence[Missing]) -> dict[str, Any]:
    """Return what a kit says of itself: what its document holds and no board shows, and variants it does not have."""
    undrawn = origin.undrawn(document)
    said = [one._asdict() for one in missing]
    return {"undrawn": undrawn[:_LISTED], "undrawnTotal": len(undrawn), "notDerivable": said[:_LISTED]}


def _make_parent(stage: Root, name: str) -> None:
    folder = name.rpartition("/")[0]
    if folder:
        stage.make_dir(folder)
