"""Children: the gate, the lock that outlives sessions, the bounds, and what a stop can confirm."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from countermark.kernel import child, gate, points, process
from countermark.kernel.child import Exited, Expired, ProcessChild, ProcessRunner, descendants_alive, group_alive
from countermark.kernel.errors import CountermarkError
from countermark.testkit.witness import Witness
from tests.conftest import ROOT, unavailable

SOURCE: Final = {"PYTHONPATH": str(ROOT / "src")}
RUNS_ON: Final = "import signal; print('up', flush=True); signal.pause()"

Start = Callable[..., ProcessChild]


@pytest.fixture
def liveness(tmp_path: Path) -> Path:
    path = tmp_path / "child.live"
    path.touch()
    return path


@pytest.fixture
def start(liveness: Path) -> Iterator[Start]:
    """Start children that end with the test."""
    started: list[ProcessChild] = []

    def begin(*argv: str, env: Mapping[str, str] | None = None, limit: int = child.OUTPUT_LIMIT) -> ProcessChild:
        one = ProcessRunner(output_limit=limit).start(argv, liveness=liveness, env=env)
        started.append(one)
        return one

    yield begin
    for one in started:
        one.close()


def soon() -> float:
    """A deadline for what must come; the test's own limit is the other guard."""
    return time.monotonic() + 60


def wait_until_free(liveness: Path) -> None:
    """Block until every process that holds the lock has ended."""
    with liveness.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)


def refusal(code: str, act: Callable[[], object]) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        act()
    assert caught.value.code == code
    return caught.value


# The launch gate


@pytest.mark.promise("kernel.child.no-run-without-its-row")
@pytest.mark.parametrize("point", child.POINTS[:4])
def test_a_program_runs_only_if_its_go_was_given(point: str, tmp_path: Path, liveness: Path) -> None:
    parent = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from countermark.kernel import points
        from countermark.kernel.child import ProcessRunner
        point, liveness, socket, source = sys.argv[1:]
        points.install(lambda reached: os.kill(os.getpid(), signal.SIGKILL) if reached == point else None)
        tell = f"from countermark.testkit.witness import WitnessClient; WitnessClient({socket!r}).saw('ran')"
        one = ProcessRunner().start([sys.executable, "-c", tell], liveness=Path(liveness), env={"PYTHONPATH": source})
        one.go()
    """)
    with Witness(tmp_path) as witness:
        argv = [sys.executable, "-c", parent, point, str(liveness), str(witness.socket), SOURCE["PYTHONPATH"]]
        killed = subprocess.run(argv, env={**os.environ, **SOURCE}, check=False)
        assert killed.returncode == -signal.SIGKILL
        wait_until_free(liveness)
        assert witness.count("ran") == (1 if point == "child.go.after" else 0)


def test_every_child_passes_the_named_points_in_order(start: Start) -> None:
    reached: list[str] = []
    points.install(reached.append)
    try:
        one = start("cat")
        one.go()
        one.send(b"x", soon())
    finally:
        points.install(None)
    assert tuple(reached) == child.POINTS


def test_a_child_stopped_at_its_gate_never_runs(start: Start, tmp_path: Path) -> None:
    one = start("touch", str(tmp_path / "ran"))
    assert one.stop(5.0).confirmed
    assert not (tmp_path / "ran").exists()
    assert refusal("child_failed", one.go).details == {"executed": "no"}


def test_a_go_is_given_once(start: Start) -> None:
    one = start("true")
    one.go()
    refusal("child_failed", one.go)


def test_a_gate_killed_by_somebody_is_known_not_to_have_run(start: Start) -> None:
    one = start("true")
    os.kill(one.identity.pid, signal.SIGKILL)
    assert one.wait(soon()) == Exited(None, signal.SIGKILL)
    assert refusal("child_failed", one.go).details == {"executed": "no"}


# What is started


def test_a_program_gets_its_arguments_and_its_exit_code_is_kept(start: Start) -> None:
    one = start("sh", "-c", 'printf "%s|" "$@"; exit 7', "sh", "a b", "$HOME", "é\n")
    one.go()
    assert one.wait(soon()) == Exited(7, None)
    assert one.output == "a b|$HOME|é\n|".encode()


def test_a_child_sees_only_the_allow_list_and_what_was_passed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "must not travel")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/must/not/travel")
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    one = start("env", env={"GIVEN": "a=b"})
    one.go()
    one.wait(soon())
    seen = dict(line.split("=", 1) for line in one.output.decode().splitlines())
    kept = {name: os.environ[name] for name in gate.ENVIRONMENT if name in os.environ}
    assert seen == {**kept, "GIVEN": "a=b"}


def test_a_locale_that_was_passed_arrives_unchanged(start: Start) -> None:
    one = start("sh", "-c", 'printf %s "$LC_CTYPE"', env={"LC_CTYPE": "C", "LC_ALL": ""})
    one.go()
    one.wait(soon())
    assert one.output == b"C"


def test_a_child_can_be_ended_by_a_broken_pipe_as_usual(start: Start) -> None:
    one = start("sh", "-c", "kill -PIPE $$")
    one.go()
    assert one.wait(soon()) == Exited(None, signal.SIGPIPE)


def test_a_child_inherits_no_descriptor_but_its_streams_and_the_lock(start: Start, tmp_path: Path) -> None:
    with (tmp_path / "private").open("w") as private:
        os.set_inheritable(private.fileno(), True)  # noqa: FBT003 - its only form
        look = "import os; print([n for n in range(3, 200) if os.path.exists(f'/dev/fd/{n}')])"
        one = start(sys.executable, "-I", "-S", "-c", look)
        one.go()
        one.wait(soon())
    numbers = one.output.decode().strip("[]\n").split(", ")
    assert len(numbers) == 1


def test_an_empty_path_is_a_missing_runtime_and_says_so(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "PATH is empty" in refusal("runtime_missing", lambda: start("true")).sentence


def test_the_current_folder_is_never_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    refusal("runtime_missing", lambda: gate.locate("engine", path=":.:"))
    refusal("input_invalid", lambda: gate.locate("./engine"))
    assert gate.locate("engine", path=f"/nowhere:{tmp_path}") == str(program)


def test_what_cannot_run_is_refused_before_anything_happens(start: Start, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    for program in (str(plain), str(tmp_path), str(tmp_path / "absent")):
        refusal("runtime_missing", lambda program=program: start(program))  # type: ignore[misc]
    refusal("input_invalid", start)
    refusal("input_invalid", lambda: start("true", "a\0b"))
    refusal("input_invalid", lambda: start("true", env={"A=B": "c"}))


def test_a_program_the_system_refuses_is_known_not_to_have_run(start: Start, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELF but not really")
    odd.chmod(0o755)
    error = refusal("runtime_missing", start(str(odd)).go)
    assert error.details == {"executed": "no"}


def test_a_missing_working_folder_is_named_as_such(liveness: Path, tmp_path: Path) -> None:
    runner = ProcessRunner()
    refusal("child_failed", lambda: runner.start(["true"], liveness=liveness, cwd=tmp_path / "absent"))
    assert not descendants_alive(liveness)


# Who is alive


def test_a_child_is_known_by_pid_start_and_boot(start: Start) -> None:
    one = start("sleep", "60")
    one.go()
    who = one.identity
    assert who.pid == who.pgid == os.getpgid(who.pid) == os.getsid(who.pid)
    assert group_alive(who)
    assert not group_alive(dataclasses.replace(who, start_time=who.start_time + 1)), "a pid given anew"
    assert not group_alive(dataclasses.replace(who, boot_id="another boot"))
    assert one.stop(5.0).confirmed
    assert not group_alive(who)


def test_a_member_that_outlives_its_leader_counts_as_alive(start: Start) -> None:
    one = start("sh", "-c", "sleep 60 & echo up")
    one.go()
    assert one.wait(soon()) == Exited(0, None)
    assert group_alive(one.identity)
    assert not group_alive(dataclasses.replace(one.identity, boot_id="another boot"))
    assert one.stop(5.0).confirmed
    assert not group_alive(one.identity)


def test_a_member_that_moved_to_another_group_of_the_session_is_stopped_too(start: Start) -> None:
    moves = (
        "import os, signal; pid = os.fork(); pid or os.setpgid(0, 0); pid or print('up', flush=True); signal.pause()"
    )
    one = start(sys.executable, "-c", moves)
    one.go()
    assert one.receive(soon()) == b"up\n"
    stopped = one.stop(5.0)
    assert stopped.confirmed
    assert not stopped.forced


@pytest.mark.promise("kernel.fence.takeover-needs-proof")
def test_a_descendant_that_left_the_session_is_seen_by_a_later_process(start: Start, liveness: Path) -> None:
    leaves = "import os, signal\nif not os.fork(): os.setsid(); print(os.getpid(), flush=True); signal.pause()"
    one = start(sys.executable, "-c", leaves)
    one.go()
    survivor = int(one.receive(soon()))  # type: ignore[arg-type]
    try:
        stopped = one.stop(5.0)
        assert stopped.group_gone
        assert not stopped.confirmed, "an escaped descendant is not stopped"
        if process.has_proc():
            assert stopped.survivors == (survivor,)
        later = "import sys, pathlib; from countermark.kernel.child import descendants_alive as alive; "
        argv = [sys.executable, "-c", later + "print(alive(pathlib.Path(sys.argv[1])))", str(liveness)]
        assert subprocess.check_output(argv, env={**os.environ, **SOURCE}) == b"True\n"
        refusal("resource_busy", lambda: start("true"))
    finally:
        os.kill(survivor, signal.SIGKILL)
    wait_until_free(liveness)
    assert not descendants_alive(liveness)
    start("true").go()


def test_a_locked_descriptor_is_handed_over_to_the_child(liveness: Path) -> None:
    held = os.open(liveness, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with ProcessRunner().start(["sleep", "60"], liveness=held) as one:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(held)
        assert descendants_alive(liveness)
        assert one.stop(5.0).confirmed
    assert not descendants_alive(liveness)


def test_a_missing_liveness_file_is_an_error_and_not_a_proof(liveness: Path) -> None:
    liveness.unlink()
    refusal("io_failed", lambda: descendants_alive(liveness))


def test_two_observers_do_not_take_each_other_for_a_descendant(liveness: Path) -> None:
    with liveness.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not descendants_alive(liveness)


def test_the_process_table_of_ps_agrees_with_the_kernels(start: Start) -> None:
    if not process.has_proc() or not Path("/bin/ps").exists():
        unavailable("ps and /proc", "the two process tables cannot be compared")
    one = start("sleep", "60")
    one.go()
    argv = ["/bin/ps", *process.PS_ARGUMENTS]
    from_ps = {row.pid: row for row in process.rows_from_ps(subprocess.check_output(argv, text=True))}
    from_proc = {row.pid: row for row in process.rows_from_proc()}
    for pid in (os.getpid(), one.identity.pid):
        assert (from_ps[pid].pgid, from_ps[pid].running) == (from_proc[pid].pgid, from_proc[pid].running)


def test_a_zombie_is_not_alive() -> None:
    rows = list(process.rows_from_ps("  10  10 Z+\n  11  10 Ss\nbroken line of words\n"))
    assert [row.running for row in rows] == [False, True]


# Bounds


def test_a_deadline_is_an_answer_and_not_a_failure(start: Start) -> None:
    one = start("sleep", "60")
    one.go()
    passed = time.monotonic()
    assert one.wait(passed) == Expired(passed)
    assert one.receive(passed) == Expired(passed)
    assert group_alive(one.identity), "expiry does not stop anything"


def test_output_past_the_limit_stops_the_child(start: Start) -> None:
    one = start("yes", limit=100_000)
    one.go()
    refusal("child_failed", lambda: one.wait(soon()))
    assert len(one.output) <= 100_000 + 65536, "the limit, and what one more read brought"
    assert not group_alive(one.identity)


def test_standard_error_never_blocks_and_its_end_is_kept(start: Start) -> None:
    one = start(
        sys.executable, "-c", "import os; [os.write(2, b'x' * 65536) for _ in range(32)]; os.write(2, b'the end')"
    )
    one.go()
    assert one.wait(soon()) == Exited(0, None)
    assert len(one.stderr) == child.STDERR_KEPT
    assert one.stderr.endswith(b"xthe end")


def test_a_long_send_and_a_long_answer_do_not_wait_for_each_other(start: Start) -> None:
    one = start("cat")
    one.go()
    data = os.urandom(3 * 1024 * 1024)
    assert one.send(data, soon()) == child.Sent(len(data))
    one.end_input()
    assert one.wait(soon()) == Exited(0, None)
    assert one.output == data


def test_a_full_or_broken_pipe_says_how_much_it_took(start: Start, liveness: Path) -> None:
    deaf = start(sys.executable, "-c", RUNS_ON)
    deaf.go()
    assert deaf.receive(soon()) == b"up\n"
    full = deaf.send(bytes(1024 * 1024), time.monotonic())
    assert full.fault == "expired"
    assert 0 < full.accepted < 1024 * 1024
    assert deaf.stop(5.0).confirmed
    assert deaf.send(b"x", soon()) == child.Sent(0, "broken")
    assert not descendants_alive(liveness)


# Stopping


def test_a_program_that_ignores_term_is_killed(start: Start) -> None:
    ignores = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + RUNS_ON
    one = start(sys.executable, "-c", ignores)
    one.go()
    assert one.receive(soon()) == b"up\n"
    stopped = one.stop(0.1)
    assert stopped.forced
    assert stopped.confirmed
    assert stopped.exit == Exited(None, signal.SIGKILL)


def test_a_program_that_obeys_term_is_not_killed(start: Start) -> None:
    obeys = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); " + RUNS_ON
    one = start(sys.executable, "-c", obeys)
    one.go()
    assert one.receive(soon()) == b"up\n"
    stopped = one.stop(30.0)
    assert stopped == child.Stopped(False, True, True, (), Exited(3, None))  # noqa: FBT003 - five answers, in order


def test_nothing_outlives_the_block_that_owns_it(liveness: Path) -> None:
    before = {path.name for path in Path("/dev/fd").iterdir()}
    with ProcessRunner().start(["sleep", "60"], liveness=liveness) as one:
        one.go()
        assert descendants_alive(liveness)
    assert not descendants_alive(liveness)
    assert not group_alive(one.identity)
    assert {path.name for path in Path("/dev/fd").iterdir()} == before
