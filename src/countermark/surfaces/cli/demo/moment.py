"""The four moments (design §1), each played on the workspace that the main job left, each judged by what is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from countermark.kernel.child import Exited
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.receipt import FILE_NAME as RECEIPT
from countermark.kernel.reply import Answered
from countermark.record.scoreboard import Moment, Row
from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.agent import heard, refusal
from countermark.surfaces.cli.demo.cast import Cast, Reach, Scenes, digest_of, perform
from countermark.surfaces.cli.demo.job import SWATCH
from countermark.surfaces.cli.demo.killer import Killer
from countermark.surfaces.cli.demo.place import DOCUMENT
from countermark.surfaces.cli.demo.shell import Shell
from countermark.surfaces.cli.demo.transcript import CLIENT
from countermark.surfaces.cli.terminal import short

KIT: Final = "kit"
SPRING: Final = "spring-kit"
"""The kit of the last two moments has a folder of its own, so that the record page of the main job stays in kit/."""
KEY: Final = "spring-1"
AGENT_KEY: Final = "agent-violet"
AGENT_COLOUR: Final = "#7a3cff"
TITLE: Final = "Countermark, by hand"
VICTIM: Final = "artboard-1-full-colour-512.png"
REACH: Final = Reach(
    "vector", ("--resource", f"file:{DOCUMENT}"), "a grant that allows less: this one document, not kit/"
)

_FLIP: Final = 0xFF
_PICTURE_CAP: Final = 1 << 26
# A person's editor: reads, changes the title, and saves as editors do, by a new file put in the place of the old one.
_EDITOR: Final = """
import json, os, sys
name, title = sys.argv[1:]
with open(name, encoding="utf-8") as file:
    tree = json.load(file)
tree["document"]["title"] = title
with open(name + "~", "w", encoding="utf-8") as file:
    json.dump(tree, file, ensure_ascii=False, indent=1)
os.replace(name + "~", name)
"""


def beyond_the_grant(on: Cast) -> Row:
    """Play (a): the agent may write the document, and asks for a kit."""
    before = digest_of(on.home / KIT)
    agent = on.agent
    agent.have("vector_read")
    with Root(on.home / KIT) as kit:
        revision = kit.tree_revision(ignoring=frozenset({RECEIPT}))
    reply = agent.call("vector_export", expected_revision=revision, idempotency_key="agent-kit")
    code, event = refusal(reply)
    untouched = digest_of(on.home / KIT) == before
    told = on.shell.run("task", "why", str(event), why="what the ledger says of it").out if event is not None else ""
    return Row(
        Moment.BEYOND_THE_GRANT,
        f"the {CLIENT} may write {DOCUMENT} and asked for a kit; kit/ {'is as it was' if untouched else 'was changed'}",
        heard(reply),
        code == "permission_denied" and untouched and code in told,
    )


def a_person_edits(on: Cast) -> Row:
    """Play (b): between the agent's look and its write, a person saves the document in another program."""
    document = on.home / DOCUMENT
    seen = on.agent.have("vector_read")["revision"]
    before = digest_of(document)
    _edit(on.shell)
    theirs = digest_of(document)
    on.shell.transcript.fact(
        f"a person saves {DOCUMENT} in another program, with another title; its SHA-256 was {short(before)}, "
        f"and is {short(theirs)} now"
    )
    reply = on.agent.call("vector_apply", **_wish(seen, "agent-stale"))
    after = digest_of(document)
    stands = "the person's bytes stand" if after == theirs else "that is not what the person saved"
    on.shell.transcript.fact(f"{DOCUMENT} is at {short(after)}: {stands}")
    code, _ = refusal(reply)
    return Row(
        Moment.A_PERSON_EDITS,
        f"{short(before)} was what the {CLIENT} had read; the person saved {short(theirs)}; after the agent's write "
        f"the file is at {short(after)}",
        heard(reply),
        code == "revision_conflict" and before != theirs and after == theirs,
    )


def reply_lost(on: Cast) -> Row:
    """Play (c): the server dies after its effect and before its answer is read; a new session says the same key."""
    agent = on.agent
    wish = _wish(agent.have("vector_read")["revision"], AGENT_KEY)
    with on.watcher("reply-lost.jsonl", DOCUMENT) as witness:
        on.introduce(witness, DOCUMENT)
        killed = agent.call_unheard("vector_apply", lambda: witness.wait(0.1) is not None, **wish)
        on.dismiss()
        said = f"the server, process {agent.pid}, was {'killed with SIGKILL' if killed else 'not killed'}"
        on.shell.transcript.fact(
            f"the witness saw a new {DOCUMENT}; at once {said}, and what it may have answered was never read"
        )
        reply = on.agent.call("vector_apply", **wish)
        on.dismiss()
        counted = witness.count(DOCUMENT)
    repeated = isinstance(reply, Answered) and reply.structured is not None and reply.structured["repeated"] is True
    return Row(
        Moment.REPLY_LOST,
        f"{said} after its effect; the same key in a new session: {heard(reply)}",
        on.lines_on_file(witness, DOCUMENT),
        killed and repeated and counted == 1,
    )


def engine_killed(on: Cast) -> Row:
    """Play (c): the engine dies while it draws; the same command with the same key is given once more."""
    command = ("vector", "kit", "--folder", SPRING, "--key", KEY)
    with on.watcher("engine-killed.jsonl", SPRING) as witness:
        on.introduce(witness, f"{SPRING}/")
        with Killer(on.home, SPRING) as killer:
            first = on.shell.run(*command, why="its engine is killed with SIGKILL while it draws", during=killer.look)
        on.shell.transcript.fact(killer.said)
        task = first.value("task").partition(",")[0]
        told = on.shell.run("task", "why", task, why="what became of it")
        again = on.shell.run(*command, why="the same key again")
        counted = witness.count(SPRING)
    repeated = again.out.startswith("Done before") and again.value("task") == first.value("task")
    looked = any("another attempt began" in line for line in told.out.splitlines())
    return Row(
        Moment.REPLY_LOST,
        f"{killer.said}; the task looked, and drew again; the same key once more: {again.out.partition('.')[0]}.",
        on.lines_on_file(witness, f"{SPRING}/"),
        killer.killed and looked and repeated and counted == 1,
    )


def one_byte_changed(on: Cast) -> Row:
    """Play (d): one byte of a picture is changed; the receipt names it; the kit is said again and brings it back."""
    shell, name = on.shell, f"{place.WORKSPACE}/{SPRING}/{VICTIM}"
    with Root(on.folder) as root:
        data = bytearray(root.read(name, cap=_PICTURE_CAP))
        spot = len(data) // 2
        was = data[spot]
        data[spot] ^= _FLIP
        root.replace(name, bytes(data))
        shell.transcript.fact(
            f"one byte of {SPRING}/{VICTIM} is changed: byte {spot} was {was:#04x} and is {data[spot]:#04x}"
        )
        found = shell.run("receipt", "verify", f"{SPRING}/", expect=1)
        root.move_new(name, f"{place.ASIDE}/{VICTIM}")
    shell.transcript.fact(f"the changed file is moved away, to {place.ASIDE}/{VICTIM}")
    shell.run("vector", "kit", "--folder", SPRING, "--key", KEY, why="the same key again brings its first result back")
    whole = shell.run("receipt", "verify", f"{SPRING}/")
    return Row(
        Moment.ONE_BYTE_CHANGED,
        f"byte {spot} of {len(data)} in {SPRING}/{VICTIM}; brought back from the store by the same key, then: "
        f"{whole.value('result')}",
        " ".join(found.err.partition("\nWhere:")[0].split()),
        VICTIM in found.err,
    )


SCENES: Final[Scenes] = {
    Moment.BEYOND_THE_GRANT: (beyond_the_grant,),
    Moment.A_PERSON_EDITS: (a_person_edits,),
    Moment.REPLY_LOST: (reply_lost, engine_killed),
    Moment.ONE_BYTE_CHANGED: (one_byte_changed,),
}


def play(shell: Shell, folder: Path) -> Iterator[Row]:
    """Play all moments (`cast.perform`)."""
    return perform(Cast(shell, folder, place.WORKSPACE, REACH), SCENES)


def _wish(revision: str, key: str) -> dict[str, Any]:
    return {
        "operation": "swatch.set",
        "swatch": SWATCH,
        "colour": AGENT_COLOUR,
        "expected_revision": revision,
        "idempotency_key": key,
    }


def _edit(shell: Shell) -> None:
    with shell.spawn([sys.executable, "-I", "-c", _EDITOR, DOCUMENT, TITLE], "person.live") as person:
        person.go()
        person.end_input()
        ended = person.wait(shell.deadline())
    if ended != Exited(0, None):
        raise CountermarkError("demo_failed", "The person's program failed.", next_action="Run the demo again.")
