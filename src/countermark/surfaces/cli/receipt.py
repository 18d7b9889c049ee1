"""`countermark receipt show | verify`: what a receipt says, and whether it and the files beside it stand."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from countermark.kernel import beneath, key, receipt
from countermark.kernel import verification as law
from countermark.kernel.errors import CountermarkError
from countermark.kernel.facts import ReceiptFacts
from countermark.kernel.files import Root
from countermark.kernel.key import Keys, TrustedKey
from countermark.kernel.receipt import Receipt
from countermark.kernel.verification import Verification
from countermark.kernel.workspace import HOME, Workspace
from countermark.surfaces.cli import story, subject
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.terminal import clock_time, columns, count, pairs, short

_CAP = 4096


@command(example="receipt show kit/")
@click.argument("what", metavar="TASK|PATH")
@click.option("--raw", is_flag=True, help="Write the receipt's own bytes, as they are signed.")
def show(call: Call, what: str, *, raw: bool) -> Answer:
    """Show the receipt of a task, a folder or a file.

    For a scene it is that of its last save. Showing proves nothing: `countermark receipt verify` does.
    """
    data = _bytes(call, what)
    found = receipt.parse(data)
    if raw:
        return Answer({}, raw=data)
    statement = json.loads(found.payload)
    return Answer({"statement": statement, "keyid": found.facts.signer.keyid}, _said(found))


@command(example="receipt verify kit/")
@click.argument("where", metavar="TASK|PATH")
@click.option(
    "--key",
    "keys",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A public key you trust, as `countermark key show` prints it. Repeatable.",
)
def verify(call: Call, where: str, keys: Sequence[Path]) -> Answer:
    """Verify a folder against its receipt, offline.

    What lies among other files is verified by itself: name a scene, for the receipt of its last save, or a task. Keys
    of the workspace around the current folder are trusted too. Exit status: 0 signed by a trusted key and every file as
    it was; 6 consistent, but the signer is unknown here; 1 the receipt or a file was changed; 3 no receipt.
    """
    trusted = [*_trusted(call), *(_named(path) for path in keys)]
    by_itself = subject.is_scene(where) or _is_task(where)
    if by_itself:
        with call.open() as workspace:
            found = subject.verify(workspace, _task(workspace, where), trusted)
    else:
        found = law.verify(where, trusted)
    unknown: CountermarkError | None = None
    try:
        found.require_signer()
    except CountermarkError as error:
        error.details.update(_wire(found))
        unknown = error
    return Answer(_wire(found), _verified(found, by_itself=by_itself), error=unknown)


def _bytes(call: Call, what: str) -> bytes:
    if os.path.isdir(what):  # noqa: PTH112 - a path that is none is no folder; `Path.is_dir` raises for some
        with beneath.Beneath(what) as folder:
            return folder.read(receipt.FILE_NAME, cap=receipt.MAX_BYTES)
    if not subject.is_scene(what) and not _is_task(what):
        return beneath.open_argument(what, receipt.MAX_BYTES)
    with call.open() as workspace:
        return workspace.receipts.render(_task(workspace, what))


def _is_task(what: str) -> bool:
    return "/" not in what and not os.path.lexists(what)


def _task(workspace: Workspace, what: str) -> str:
    return subject.writer(workspace, what) if subject.is_scene(what) else what


def _trusted(call: Call) -> tuple[TrustedKey, ...]:
    """Return the keys of the workspace that was named, or of the one around here if there is one."""
    try:
        folder = call.place()
    except CountermarkError:
        if call.workspace is not None:
            raise
        return ()
    with Root(folder / HOME / "keys") as root:
        return Keys(root).trusted()


def _named(path: Path) -> TrustedKey:
    text = beneath.open_argument(str(path), _CAP).decode("utf-8", "replace")
    name = path.stem
    with suppress(CountermarkError):
        return key.trusted_key(text, name)
    return key.trusted_key(text, "a key file")


def _wire(found: Verification) -> dict[str, Any]:
    return {
        "result": found.sentence,
        "signer": found.signer,
        "keyid": found.receipt.facts.signer.keyid,
        "task": found.receipt.facts.task_id,
        "state": found.receipt.facts.state.value,
        "files": list(found.files) if found.files is not None else None,
        "subjects": {subject.name: subject.digest for subject in found.receipt.subjects},
        "notChecked": [{"what": gap.what, "why": gap.why} for gap in found.not_checked],
        "notCheckedThen": [{"what": gap.what, "why": gap.why} for gap in found.receipt.facts.not_checked],
    }


def _verified(found: Verification, *, by_itself: bool) -> list[str]:
    facts = found.receipt.facts
    looked = ""
    if found.files is not None and by_itself:
        looked = f"{', '.join(found.files)} as signed; what lies beside was not looked at"
    elif found.files is not None:
        looked = f"{count(len(found.files), 'file')} as signed, none changed, missing or extra"
    lines = pairs(
        ("result", found.sentence),
        ("files", looked),
        ("signed with", short(facts.signer.keyid)),
        ("task", f"{facts.task_id}, {facts.state}{': ' + facts.code if facts.code else ''}"),
        ("finished", clock_time(facts.times.finished)),
    )
    gaps = [(gap.what, gap.why) for gap in (*found.not_checked, *facts.not_checked)]
    return [*lines, *(["", "not checked", *(f"  {line}" for line in columns(gaps))] if gaps else [])]


def _said(found: Receipt) -> list[str]:
    facts = found.facts
    lines = pairs(
        ("task", facts.task_id),
        ("state", f"{facts.state}{': ' + facts.code if facts.code else ''}"),
        ("executed", facts.executed.value),
        ("asked", f"{facts.effect} on {', '.join(story.place(one.name) for one in facts.resources) or 'nothing'}"),
        ("allowed by", " > ".join(f"grant {one.id} ({one.issuer})" for one in facts.grants)),
        ("key", short(facts.idempotency_key)),
        ("uses", story.amounts(facts.uses)),
        ("accepted by", _acceptance(facts)),
        ("finished", clock_time(facts.times.finished)),
        ("signed with", short(facts.signer.keyid)),
    )
    changed = [
        (story.place(one.name), _revision(one.revision_before), "->", _revision(one.revision_after))
        for one in facts.resources
    ]
    checks = story.checks(facts.verdicts, makers=True)
    gaps = [(gap.what, gap.why) for gap in facts.not_checked]
    subjects = [(short(one.digest), one.name) for one in found.subjects]
    for title, rows in (("changed", changed), ("checked", checks), ("not checked", gaps), ("subjects", subjects)):
        if rows:
            lines += ["", title, *(f"  {line}" for line in columns(rows))]
    return lines


def _acceptance(facts: ReceiptFacts) -> str:
    if facts.acceptance is None:
        return "nobody"
    return facts.acceptance.by


def _revision(token: str | None) -> str:
    return "unknown" if token is None else short(token)
