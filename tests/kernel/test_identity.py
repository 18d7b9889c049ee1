from __future__ import annotations

import os
import subprocess
import sys

import pytest

from countermark.kernel.identity import ProcessIdentity, boot_id, is_gone, own_identity, process_identity


def test_this_process_is_itself_and_alive() -> None:
    mine = own_identity()
    assert mine == process_identity() == process_identity(os.getpid())
    assert (mine.host, mine.boot_id, mine.pid) == (os.uname().nodename, boot_id(), os.getpid())
    assert not is_gone(mine)


def test_a_process_is_gone_once_it_has_ended_even_before_anybody_asked_how() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    identity = process_identity(child.pid)
    assert identity is not None
    assert not is_gone(identity)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended and is not yet reaped: a zombie
    assert is_gone(identity)
    child.communicate()
    assert is_gone(identity)
    assert process_identity(child.pid) is None


@pytest.mark.parametrize("change", [{"start_time": 1}, {"boot_id": "another"}])
def test_the_same_number_at_another_time_is_another_process(change: dict[str, object]) -> None:
    assert is_gone(ProcessIdentity(**{**own_identity()._asdict(), **change}))


def test_a_process_of_another_host_is_never_proven_gone() -> None:
    assert not is_gone(ProcessIdentity("elsewhere", "another", 1, 1))


def test_a_fork_is_another_process() -> None:
    program = (
        "import os; from countermark.kernel.identity import own_identity; mine = own_identity(); child = os.fork();"
        "os._exit(own_identity().pid != os.getpid()) if child == 0 else sys.exit(os.waitpid(child, 0)[1])"
    )
    done = subprocess.run([sys.executable, "-c", f"import sys; {program}"], check=False)
    assert done.returncode == 0
