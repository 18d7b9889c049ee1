"""The four moments (design §1) on one scene that an agent and a person draw together.

As in `moment`, every judgement is of something outside the program that is judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.reply import Answered
from countermark.record.scoreboard import Moment, Row
from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.agent import heard, refusal
from countermark.surfaces.cli.demo.cast import Cast, Reach, Scenes, digest_of, perform
from countermark.surfaces.cli.demo.diagram import APPLY, ARROWS, CREATE, FILE, READ, SCENE, draw
from countermark.surfaces.cli.demo.page import Page
from countermark.surfaces.cli.demo.shell import Shell
from countermark.surfaces.cli.demo.transcript import CLIENT
from countermark.surfaces.cli.terminal import short

MOST: Final = 6
OTHER: Final = "roadmap"
YELLOW: Final = "#ffec99"
NOTE: Final = "checked by two"
LOST: Final = "note-review"
REACH: Final = Reach(
    "scene",
    ("--resource", f"scene:{SCENE}", "--limit", f"attempts={MOST}"),
    "a grant that allows less: this one scene, and a few saves of it",
)

_CAP: Final = 1 << 24
_WORD: Final = b"Review"
_SPOT: Final = 5
"""The letter of that word that is changed: the file stays a scene, and nobody would see it."""
_ALIKE: Final = b"v"
_SAVES_OF_DRAWING: Final = 2
_TIMES: Final = {1: "once", 2: "twice"}


def beyond_the_grant(on: Cast) -> Row:
    """Play (a): the agent may write one scene, and asks for another."""
    before = scenes(on.home)
    reply = on.agent.call(CREATE, name=OTHER, request_id="agent-other")
    code, _ = refusal(reply)
    untouched = scenes(on.home) == before
    stands = "as they were, byte for byte" if untouched else "not what they were"
    left = on.shell.run("grant", "show", on.grant, why="what it has used: the two saves of drawing").value("limits")
    return Row(
        Moment.BEYOND_THE_GRANT,
        f"the {CLIENT} may write {SCENE} and asked for {OTHER}; the scenes of the folder are {stands}",
        heard(reply),
        code == "permission_denied" and untouched and f"attempts {_SAVES_OF_DRAWING} of {MOST} used" in left,
    )


def a_person_edits(on: Cast) -> Row:
    """Play (b): between the agent's look and its write, the person's page saves the scene."""
    file, transcript = on.home / FILE, on.shell.transcript
    seen = _look(on)
    before = digest_of(file)
    with Page(on.shell) as page:
        found = page.read(SCENE)
        page.put(SCENE, _in_yellow(found["scene"]), found["revision"], "person-yellow")
    theirs = digest_of(file)
    transcript.fact(
        f"through the page's HTTP door the person has given Review a yellow ground; the SHA-256 of {FILE} was "
        f"{short(before)}, and is {short(theirs)} now"
    )
    reply = on.agent.call(APPLY, **_wish(seen, "agent-stale"))
    after = digest_of(file)
    stands = "the person's bytes stand" if after == theirs else "that is not what the person saved"
    transcript.fact(f"{FILE} is at {short(after)}: {stands}")
    code, _ = refusal(reply)
    return Row(
        Moment.A_PERSON_EDITS,
        f"{short(before)} was what the {CLIENT} had read; the person's page saved {short(theirs)}; after the agent's "
        f"write the file is at {short(after)}",
        heard(reply),
        code == "revision_conflict" and before != theirs and after == theirs,
    )


def reply_lost(on: Cast) -> Row:
    """Play (c): the server dies after its effect and before its answer is read; a new session says the same id."""
    agent, transcript = on.agent, on.shell.transcript
    seen = _look(on)
    wish = _wish(seen, LOST)
    with on.watcher("reply-lost.jsonl", FILE) as witness:
        on.introduce(witness, FILE)
        killed = agent.call_unheard(APPLY, lambda: witness.wait(0.1) is not None, **wish)
        on.dismiss()
        said = f"the server, process {agent.pid}, was {'killed with SIGKILL' if killed else 'not killed'}"
        book = "not yet" if _recorded(on.home) == seen else "already"
        transcript.fact(
            f"the witness saw a new {FILE}; at once {said}: the new revision was {book} in the record beside the "
            "scene, and what it may have answered was never read"
        )
        reply = on.agent.call(APPLY, **wish)
        on.dismiss()
        counted = witness.count(FILE)
    told = reply.structured if isinstance(reply, Answered) and reply.structured is not None else {}
    once = told.get("duplicate") is True and told.get("revision") == seen + 1
    notes = sum(one.get("text") == NOTE for one in elements(on.home / FILE))
    kept = any(one.get("backgroundColor") == YELLOW for one in elements(on.home / FILE))
    transcript.fact(
        f"{FILE} holds the agent's note {_TIMES.get(notes, f'{notes} times')}, "
        f"{'and' if kept else 'but not'} the person's yellow"
    )
    return Row(
        Moment.REPLY_LOST,
        f"{said} after its effect; the same request id in a new session: {heard(reply)}",
        on.lines_on_file(witness, FILE),
        killed and once and counted == 1 and notes == 1 and kept,
    )


def one_byte_changed(on: Cast) -> Row:
    """Play (d): one letter of a label is changed in the file; the receipt of the last save names it."""
    shell, name = on.shell, f"{place.SCENES}/{FILE}"
    shell.run("receipt", "verify", FILE, why="the receipt of its last save, made now")
    with Root(on.folder) as root:
        signed = root.read(name, cap=_CAP)
        spot = signed.index(_WORD) + _SPOT
        changed = signed[:spot] + _ALIKE + signed[spot + 1 :]
        root.replace(name, changed)
        shell.transcript.fact(
            f"one byte of {FILE} is changed: byte {spot} was {chr(signed[spot])!r} and is {chr(changed[spot])!r}; "
            "it still is a whole scene"
        )
        found = shell.run("receipt", "verify", FILE, expect=1)
        root.replace(name, signed)
    shell.transcript.fact("that byte is put back")
    whole = shell.run("receipt", "verify", FILE)
    return Row(
        Moment.ONE_BYTE_CHANGED,
        f"byte {spot} of {len(signed)} in {FILE}; put back, then: {whole.value('result')}",
        " ".join(found.err.partition("\nWhere:")[0].split()),
        f"{FILE} was changed" in " ".join(found.err.split()),
    )


MOMENTS: Final[Scenes] = {
    Moment.BEYOND_THE_GRANT: (beyond_the_grant,),
    Moment.A_PERSON_EDITS: (a_person_edits,),
    Moment.REPLY_LOST: (reply_lost,),
    Moment.ONE_BYTE_CHANGED: (one_byte_changed,),
}


def play(shell: Shell, folder: Path) -> Iterator[Row]:
    """Let the agent draw, then play all moments on what it drew."""
    on = Cast(shell, folder, place.SCENES, REACH)
    try:
        draw(on)
        shell.transcript.fact(bound(on.home / FILE))
    except BaseException:
        on.dismiss()
        raise
    return perform(on, MOMENTS)


def bound(file: Path) -> str:
    """Return what the arrows of a file hold on to; raise `demo_failed` for an end that neither side knows of."""
    found = elements(file)
    known = {one["id"]: {held["id"] for held in one.get("boundElements") or ()} for one in found}
    said = []
    for wanted in ARROWS:
        arrow = next(one for one in found if one["id"] == wanted["element"]["id"])
        ends = [arrow[end]["elementId"] for end in ("startBinding", "endBinding") if arrow.get(end)]
        if len(ends) != len(("start", "end")) or not all(arrow["id"] in known[end] for end in ends):
            raise CountermarkError("demo_failed", f"{arrow['id']} came loose.", next_action=f"Look into {file}.")
        said.append(f"{arrow['id']} holds on to {' and '.join(ends)}")
    return f"in {FILE}, {', and '.join(said)}: each end stands in the arrow and in what it holds"


def scenes(home: Path) -> dict[str, str]:
    """Return the digest of every scene in a folder by its name."""
    return {path.name: digest_of(path) for path in sorted(home.glob("*.excalidraw"))}


def elements(file: Path) -> list[dict[str, Any]]:
    """Return what a file holds and is not deleted, read as any program reads JSON."""
    found: list[dict[str, Any]] = json.loads(file.read_bytes())["elements"]
    return [one for one in found if not one.get("isDeleted")]


def _look(on: Cast) -> int:
    return int(on.agent.have(READ, name=SCENE, include="summary")["revision"])


def _recorded(home: Path) -> int:
    """Return the revision in the record beside the scene, which is written after it."""
    return int(json.loads((home / f".dsh-excalidraw/{SCENE}.meta.json").read_bytes())["revision"])


def _wish(revision: int, request: str) -> dict[str, Any]:
    note = {"type": "text", "x": 615, "y": 210, "text": NOTE}
    operations = [{"op": "add", "element": note}]
    return {"name": SCENE, "expected_revision": revision, "request_id": request, "operations": operations}


def _in_yellow(scene: dict[str, Any]) -> dict[str, Any]:
    """Return the scene as the editor sends it when a person gave one shape another ground."""
    for one in scene["elements"]:
        if one["id"] == "review":
            one.update(backgroundColor=YELLOW, fillStyle="solid")
            one.update(version=one["version"] + 1, versionNonce=one["versionNonce"] ^ 1)
    return scene
