"""The strict client: what each kind of reply means, and that no fault of a child is taken for success."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel import stdio
from countermark.kernel.child import ProcessChild, ProcessRunner
from countermark.kernel.errors import CountermarkError
from countermark.kernel.reply import Nonsense, Response, classify, read_message
from countermark.kernel.stdio import Ambiguous, Answered, RpcError, Session, ToolError
from countermark.testkit import child as scripted
from countermark.testkit.witness import Witness
from tests.conftest import ROOT

TOOL: Final = {"name": "work", "inputSchema": {"type": "object"}}

# Faults that show in the answer itself; the work is done, and nobody can know it from the reply.
FAULTY: Final = [
    "nonsense",
    "empty_line",
    "array",
    "nan",
    "infinity",
    "duplicate_keys",
    "half_character",
    "long_line",
    "wrong_id",
    "text_id",
    "true_id",
    "null_id",
    "no_version",
    "both",
    "neither",
    "malformed_error",
    "is_error_text",
    "is_error_number",
    "malformed_content",
    "unknown_content",
    "no_content",
    "structured_list",
    "twice",
    "again",
    "lose",
    "die_after",
    "close_output",
]
# Faults that only the deadline ends.
SILENT: Final = ("hang", "partial", "late", "chatter")
# Faults of a child that has not been asked to do anything yet.
UNSUBMITTED: Final = (
    "nonsense",
    "nan",
    "duplicate_keys",
    "wrong_id",
    "both",
    "long_line",
    "lose",
    "true_id",
    "twice",
)


class WatchfulClock:
    """The machine's clock, which jumps an hour once something was seen: a deadline passes without waiting for it."""

    def __init__(self) -> None:
        self.jump_when: Callable[[], bool] | None = None
        self._ahead = 0.0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        if self.jump_when is not None and self.jump_when():
            self.jump_when, self._ahead = None, self._ahead + 3600.0
        return time.monotonic() + self._ahead

    def soon(self) -> float:
        return self.monotonic() + 60.0


class Stage:
    """A witness, a clock, and sessions with scripted children."""

    def __init__(self, folder: Path, witness: Witness) -> None:
        self.folder = folder
        self.witness = witness
        self.before = witness.count()
        self.clock = WatchfulClock()
        self.children: list[ProcessChild] = []

    def session(self, *calls: Mapping[str, Any], line_limit: int = 1 << 23, **script: Any) -> Session:
        number = len(self.children)
        path, liveness = self.folder / f"{number}.json", self.folder / f"{number}.live"
        path.write_text(json.dumps({"witness": str(self.witness.socket), "calls": calls, **script}))
        liveness.touch()
        one = ProcessRunner(self.clock).start(
            scripted.argv(path), liveness=liveness, env={"PYTHONPATH": str(ROOT / "src")}
        )
        self.children.append(one)
        one.go()
        return Session(one, self.clock, line_limit=line_limit)

    def effects(self) -> list[str]:
        return self.witness.effects()[self.before :]

    def call(self, session: Session, **arguments: Any) -> object:
        return session.call("work", arguments, self.clock.soon())


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witness]:
    with Witness(tmp_path_factory.mktemp("witness")) as one:
        yield one


@pytest.fixture
def stage(tmp_path: Path, witness: Witness) -> Iterator[Stage]:
    one = Stage(tmp_path, witness)
    yield one
    for each in one.children:
        each.stop(0.0)
        each.close()


def refusal(code: str, act: Callable[[], object]) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        act()
    assert caught.value.code == code
    return caught.value


# What a sound child says


def test_a_sound_conversation(stage: Stage) -> None:
    session = stage.session({"effect": "a", "then": "reply", "structured": {"n": 1}, "text": "one"})
    server = session.initialize(stage.clock.soon())
    assert (server.name, server.version) == ("scripted", "1")
    reply = stage.call(session, name="x", flag=True)
    assert reply == Answered(({"type": "text", "text": "one"},), {"n": 1})
    assert stage.call(session) == reply
    assert session.finish(stage.clock.soon()) == ()
    assert stage.effects() == ["a", "a"]


def test_a_tools_error_and_the_protocols_error_are_answers(stage: Stage) -> None:
    session = stage.session({"then": "tool_error"}, {"then": "rpc_error"}, {"then": "error_field"})
    assert stage.call(session) == ToolError("scripted failure")
    assert stage.call(session) == RpcError(-32602, "scripted")
    reply = stage.call(session)
    assert isinstance(reply, Answered), "a business field named error is no failure"
    assert reply.structured == {"error": "a business field"}


def test_the_child_is_served_while_it_works(stage: Stage) -> None:
    sampling = "sampling/createMessage"
    session = stage.session({"then": "ask_first"}, {"then": "ask_first", "method": sampling}, {"then": "notify_first"})
    ping, other = (stage.call(session) for _ in range(2))
    assert isinstance(ping, Answered)
    assert ping.structured == {"client": {"jsonrpc": "2.0", "id": "ask-1", "result": {}}}
    assert isinstance(other, Answered)
    assert other.structured is not None
    assert other.structured["client"]["error"]["code"] == -32601
    assert isinstance(stage.call(session), Answered)


def test_a_flood_on_standard_error_holds_nothing_up(stage: Stage) -> None:
    assert isinstance(stage.call(stage.session({"then": "stderr_flood"})), Answered)


def test_a_descendant_that_keeps_the_pipes_open_holds_nothing_up(stage: Stage) -> None:
    session = stage.session({"then": "stay"})
    assert isinstance(stage.call(session), Answered)
    stage.clock.jump_when = lambda: True
    assert session.finish(stage.clock.soon() - 3600.0) == ()
    assert stage.children[0].stop(5.0).confirmed


# The capability snapshot


def test_the_tools_are_listed_over_all_pages_and_their_digest_shows_drift(stage: Stage) -> None:
    tools = [{**TOOL, "name": f"tool{number}"} for number in range(5)]
    first = stage.session(tools=tools, page=2).tools(stage.clock.soon())
    assert list(first.tools) == [f"tool{number}" for number in range(5)]
    again = stage.session(tools=tools[::-1]).tools(stage.clock.soon())
    assert again.digest == first.digest, "order and pages are no drift"
    changed = [*tools[:4], {**tools[4], "inputSchema": {"type": "object", "required": ["a"]}}]
    assert stage.session(tools=changed).tools(stage.clock.soon()).digest != first.digest
    assert stage.session(tools=tools, version="2").tools(stage.clock.soon()).digest != first.digest


@pytest.mark.parametrize(
    "script",
    [
        {"initialize": {"result": {"protocolVersion": "2024-11-05"}}},
        {"initialize": {"result": {"capabilities": {}}}},
        {"initialize": {"result": {"serverInfo": {"name": "x"}}}},
        {"initialize": {"then": "rpc_error"}},
        {"list": {"then": "rpc_error"}},
        {"list": {"result": {"tools": "many"}}},
        {"list": {"result": {"nextCursor": 7}}},
        {"list": {"result": {"tools": [], "nextCursor": "0"}}},
        {"tools": [TOOL, TOOL]},
        {"tools": [{"name": "work"}]},
        {"tools": [{**TOOL, "name": ""}]},
        {"tools": [{**TOOL, "outputSchema": []}]},
        {"tools": [{**TOOL, "inputSchema": {"type": "object", "maximum": 2**63}}]},
        {"tools": [{**TOOL, "name": "another"}]},
    ],
)
def test_a_child_that_cannot_do_the_work_is_refused_before_it(script: dict[str, Any], stage: Stage) -> None:
    session = stage.session({"effect": "a"}, **script)
    refusal("capability_missing", lambda: stage.call(session))
    assert stage.effects() == []


def test_tools_that_changed_after_they_were_listed_are_a_mismatch(stage: Stage) -> None:
    changed = {"then": "notify_first", "method": "notifications/tools/list_changed"}
    session = stage.session(changed, {"effect": "a"})
    assert isinstance(stage.call(session), Answered)
    refusal("capability_schema_mismatch", lambda: stage.call(session))
    assert stage.effects() == []
    session.tools(stage.clock.soon())
    assert isinstance(stage.call(session), Answered)


# Faults


@pytest.mark.promise("kernel.once.lost-reply-no-second-effect")
@pytest.mark.parametrize("then", FAULTY)
def test_a_faulty_reply_leaves_the_outcome_unknown(then: str, stage: Stage) -> None:
    session = stage.session({"effect": "a", "then": then})
    assert isinstance(stage.call(session), Ambiguous)
    assert session.poisoned
    refusal("session_poisoned", lambda: stage.call(session))
    assert stage.effects() == ["a"], "done once, and never again by this session"


@pytest.mark.promise("kernel.once.lost-reply-no-second-effect")
@pytest.mark.parametrize("then", SILENT)
def test_silence_past_the_deadline_leaves_the_outcome_unknown(then: str, stage: Stage) -> None:
    session = stage.session({"effect": "a", "then": then})
    session.tools(stage.clock.soon())
    stage.clock.jump_when = lambda: len(stage.effects()) == 1
    assert isinstance(stage.call(session), Ambiguous)
    refusal("session_poisoned", lambda: stage.call(session))
    assert stage.effects() == ["a"]


def test_a_child_killed_before_the_effect_looks_the_same_and_did_nothing(stage: Stage) -> None:
    session = stage.session({"effect": "a", "then": "die_before"})
    assert isinstance(stage.call(session), Ambiguous)
    assert stage.effects() == []


@pytest.mark.parametrize(("then", "reason"), [("reply_and_hang", "did not take"), ("reply_and_close_input", "closed")])
def test_a_request_that_was_not_wholly_taken_is_unknown_too(then: str, reason: str, stage: Stage) -> None:
    session = stage.session(list={"then": then})
    session.tools(stage.clock.soon())
    deadline = stage.clock.soon()
    asked = iter(range(1000))
    # The deadline passes while the pipe is full: after it was found in the future a few times.
    stage.clock.jump_when = lambda: next(asked) > 3
    reply = session.call("work", {"much": "x" * (1 << 20)}, deadline)
    assert isinstance(reply, Ambiguous)
    assert reason in reply.reason


@pytest.mark.parametrize("at", ["initialize", "list"])
@pytest.mark.parametrize("then", UNSUBMITTED)
def test_the_same_fault_before_a_call_is_an_error_without_effect(then: str, at: str, stage: Stage) -> None:
    script: dict[str, Any] = {at: {"then": then}}
    session = stage.session({"effect": "a"}, **script)
    error = refusal("child_failed", lambda: stage.call(session))
    assert error.details == {"executed": "no"}
    assert stage.effects() == []


def test_a_child_that_hangs_in_the_handshake_is_an_error_without_effect(stage: Stage) -> None:
    session = stage.session({"effect": "a"}, initialize={"effect": "greeted", "then": "hang"})
    stage.clock.jump_when = lambda: len(stage.effects()) == 1
    refusal("child_failed", lambda: stage.call(session))
    assert stage.effects() == ["greeted"]


class Chatterbox:
    """A child that always has something to say, so that no read ever waits; the clock jumps while it talks."""

    def __init__(self, clock: WatchfulClock) -> None:
        self.reads = 0
        self._clock = clock

    def receive(self, deadline: float) -> bytes:
        del deadline
        self.reads += 1
        if self.reads == 10:
            self._clock.jump_when = lambda: True
        return b'{"jsonrpc":"2.0","method":"notifications/message"}\n' * 3


def test_endless_talk_cannot_outlast_the_deadline() -> None:
    clock = WatchfulClock()
    chatterbox = Chatterbox(clock)
    lines = stdio._Lines(chatterbox, clock, 1000)  # type: ignore[arg-type]  # noqa: SLF001 - it only ever receives
    deadline = clock.soon()
    while isinstance(lines.next(deadline), bytes):
        assert chatterbox.reads < 20, "still listening after the deadline"
    assert chatterbox.reads == 10


def test_a_line_may_be_as_long_as_the_limit_and_no_longer(stage: Stage) -> None:
    words = {"text": "x" * 100_000}
    assert isinstance(stage.call(stage.session(words)), Answered)
    reply = stage.call(stage.session(words, line_limit=100_000))
    assert reply == Ambiguous("a line is longer than 100000 bytes")


# Strays


def test_a_late_answer_is_recorded_and_is_no_outcome(stage: Stage) -> None:
    session = stage.session({"effect": "a", "then": "late", "structured": {"n": 1}})
    session.tools(stage.clock.soon())
    stage.clock.jump_when = lambda: len(stage.effects()) == 1
    assert isinstance(stage.call(session), Ambiguous)
    (stray,) = session.finish(stage.clock.soon())
    assert stray.kind == "late"
    assert stray.reply == Answered(({"type": "text", "text": "done"},), {"n": 1})
    assert session.poisoned


def test_a_second_answer_is_not_taken_for_the_next_calls(stage: Stage) -> None:
    session = stage.session({"then": "reply", "text": "one"}, {"effect": "b", "then": "again", "text": "two"})
    assert isinstance(stage.call(session), Answered)
    assert stage.call(session) == Ambiguous("it answered twice")
    (second, late) = session.finish(stage.clock.soon())
    assert (second.kind, second.request) == ("second", 3)
    assert (late.kind, late.request) == ("late", 4)


def test_a_second_answer_between_two_calls_stops_the_next_one_before_it_is_submitted(stage: Stage) -> None:
    release, done = (stage.folder / name for name in ("release", "done"))
    for fifo in (release, done):
        os.mkfifo(fifo)
    apart = {"then": "twice_apart", "release": str(release), "done": str(done)}
    session = stage.session(apart, {"effect": "b"})
    assert isinstance(stage.call(session), Answered)
    release.write_bytes(b"go")
    assert done.read_bytes() == b"said"
    refusal("child_failed", lambda: stage.call(session))
    assert [stray.kind for stray in session.strays] == ["second"]
    assert stage.effects() == []


def test_a_child_that_ended_between_two_calls_is_an_error_and_not_an_unknown(stage: Stage) -> None:
    session = stage.session({"then": "reply"}, {"effect": "b"})
    assert isinstance(stage.call(session), Answered)
    stage.children[0].stop(0.0)
    refusal("child_failed", lambda: stage.call(session))


# Nothing submitted


def test_what_cannot_be_said_is_refused_and_the_session_lives(stage: Stage) -> None:
    session = stage.session({"effect": "a"})
    refusal("input_invalid", lambda: stage.call(session, ratio=float("nan")))
    refusal("capability_missing", lambda: session.call("other", {}, stage.clock.soon()))
    refusal("deadline_exceeded", lambda: session.call("work", {}, stage.clock.monotonic()))
    assert stage.effects() == []
    assert isinstance(stage.call(session), Answered)


# The pure part

MEMBERS: Final = st.sampled_from(["jsonrpc", "id", "method", "result", "error", "content", "isError", "type", "text"])
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS | st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=80) | st.dictionaries(MEMBERS, JSON | st.just("2.0")).map(lambda d: json.dumps(d).encode()))
def test_no_line_can_raise(line: bytes) -> None:
    message = read_message(line)
    if isinstance(message, Response):
        classify(message)


@given(st.dictionaries(st.sampled_from(["content", "isError", "structuredContent"]), JSON) | JSON)
def test_only_a_well_formed_result_is_an_answer(result: Any) -> None:
    reply = classify(Response(1, result=result))
    sound = (
        isinstance(result, dict)
        and isinstance(result.get("content"), list)
        and isinstance(result.get("isError", False), bool)
        and isinstance(result.get("structuredContent", {}), dict)
        and not result["content"]  # arbitrary JSON never makes a sound block by chance
    )
    assert isinstance(reply, Ambiguous) != sound


@pytest.mark.parametrize(
    ("block", "sound"),
    [
        ({"type": "text", "text": "x"}, True),
        ({"type": "text", "text": 1}, False),
        ({"type": "image", "data": "aGk=", "mimeType": "image/png"}, True),
        ({"type": "image", "data": "aGk="}, False),
        ({"type": "resource_link", "uri": "file:///x", "name": "x"}, True),
        ({"type": "resource_link", "uri": "file:///x"}, False),
        ({"type": "resource", "resource": {"uri": "file:///x", "text": "x"}}, True),
        ({"type": "resource", "resource": {"uri": "file:///x"}}, False),
        ({"type": ["text"], "text": "x"}, False),
        ("text", False),
    ],
)
def test_a_content_block_has_the_members_of_its_kind(block: object, sound: bool) -> None:  # noqa: FBT001 - a table
    assert isinstance(classify(Response(1, result={"content": [block]})), Answered) == sound


def test_an_id_that_readers_would_round_is_nonsense() -> None:
    assert isinstance(read_message(b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'), Nonsense)
