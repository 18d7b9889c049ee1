"""What every test may rely on: parts that are named when they are missing, the shared data, replayable properties.

A part of the machine that a test needs and does not find is reported by `unavailable(part, why)`. It shows as its own
category, is listed by name above the closing line, and is a failure where COUNTERMARK_REQUIRE_ALL=1. Any other way of
skipping a test fails the run: a test that silently does not run proves nothing.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from itertools import count as counting
from pathlib import Path
from typing import Any, Final, NoReturn

import hypothesis
import pytest
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT: Final = Path(__file__).resolve().parent.parent
PREFIX: Final = "unavailable: "
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - pytest makes folders of its own in it
MEMORY_BYTES: Final = 2 << 30
"""Room that has to be free there; the whole suite needs less than a quarter of it at any one time."""

hypothesis.settings.register_profile(
    "countermark",
    deadline=None,
    print_blob=True,
    # A failure found in CI has to be the failure that the next run finds; elsewhere every run looks further.
    derandomize=bool(os.environ.get("CI")),
    database=None if os.environ.get("CI") else DirectoryBasedExampleDatabase(ROOT / "build" / "cache" / "hypothesis"),
)
hypothesis.settings.load_profile("countermark")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' folders in memory where there is room, so that a sync costs nothing where no claim is about it.

    Claims about a real disk stand on one: `tests/kernel` asks for `tmp_path` where the system keeps temporary files.
    `--basetemp FOLDER` moves everything else, too.
    """
    worker = hasattr(config, "workerinput")  # it is told its folder
    if not worker and config.option.basetemp is None and roomy(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the groups that one worker keeps to itself: at the end the others would have nothing left to do."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def roomy(folder: Path) -> bool:
    """Tell whether tests may write and start programs there, and have room."""
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    there = os.statvfs(folder)
    return there.f_bavail * there.f_frsize > MEMORY_BYTES and not there.f_flag & getattr(os, "ST_NOEXEC", 8)


def unavailable(part: str, why: str) -> NoReturn:
    """End this test because a part it needs is not on this machine; call it inside a test or a fixture."""
    pytest.skip(f"{PREFIX}{part}: {why}")


Ask = Callable[..., Any]
MCP: Final = (
    "import sys; from pathlib import Path; from countermark.surfaces.mcp import serve; "
    "serve(Path(sys.argv[1]), toolsets=sys.argv[2].split(','), grant=sys.argv[3] or None)"
)
"""A program that serves tools as `countermark mcp` does: workspace, sets of tools, grant."""


@pytest.fixture
def mcp_command() -> Callable[..., tuple[list[str], dict[str, str]]]:
    """Return what starts a server of tools, and its environment, by workspace, sets of tools and grant."""
    import countermark  # noqa: PLC0415 - where the package under test lies, installed or not

    env = {"PYTHONPATH": str(Path(countermark.__path__[0]).parent)}
    return lambda space, sets, grant="": ([sys.executable, "-c", MCP, str(space), sets, grant], env)


@pytest.fixture
def mcp_server(
    tmp_path: Path, mcp_command: Callable[..., tuple[list[str], dict[str, str]]]
) -> Iterator[Callable[[Path, str, str], Ask]]:
    """Start real servers of tools, each in a process of its own; each returns what calls one tool by our strict client.

    Given a workspace, sets of tools and a grant. `ask("tools/list")` lists the tools.
    """
    from countermark.kernel.child import ProcessRunner  # noqa: PLC0415 - only where a server is started
    from countermark.kernel.clock import SystemClock  # noqa: PLC0415 - likewise
    from countermark.kernel.stdio import Session  # noqa: PLC0415 - likewise

    clock = SystemClock()
    with ExitStack() as children:
        number = counting()

        def start(space: Path, sets: str, grant: str = "") -> Ask:
            live = tmp_path / f"live-{next(number)}"
            live.touch()
            argv, env = mcp_command(space, sets, grant)
            child = ProcessRunner(clock).start(argv, liveness=live, env=env)
            children.callback(child.close)
            child.go()
            session = Session(child, clock)

            def ask(tool: str, **arguments: Any) -> Any:
                if tool == "tools/list":
                    return session.tools(clock.monotonic() + 60)
                return session.call(tool, arguments, clock.monotonic() + 90)

            return ask

        yield start


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real inputs: COUNTERMARK_DATA, or `../shared/data` beside the project."""
    folder = Path(os.environ.get("COUNTERMARK_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        unavailable("shared data", f"{folder} is not there; COUNTERMARK_DATA names the folder")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into `unavailable`, or into a failure where it is not one or where every part is required."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        said = str(call.excinfo.value) if call.excinfo else ""
        if not said.startswith(PREFIX):
            report.outcome = "failed"
            report.longrepr = f"skipped otherwise than through unavailable(part, why): {said}"
        elif os.environ.get("COUNTERMARK_REQUIRE_ALL") == "1":
            report.outcome = "failed"
            report.longrepr = f"{said} (COUNTERMARK_REQUIRE_ALL=1: every part has to be here)"
        else:
            report.__dict__["unavailable"] = said.removeprefix(PREFIX)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Refuse a module that skips itself while it is collected: its tests would not even be counted."""
    report = yield
    if report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"a module skipped itself; call unavailable(part, why) in its tests: {report.longrepr}"
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Count and show `unavailable` as a category of its own, apart from passed and skipped."""
    if hasattr(report, "unavailable"):
        return "unavailable", "u", ("UNAVAILABLE", {"yellow": True})
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name every unavailable part, why, and how many tests it kept from running; say what passed tests counted."""
    for report in terminalreporter.stats.get("passed", []):
        for name, said in report.user_properties:
            if name == "told":
                terminalreporter.write_line(str(said))
    counted = Counter(report.unavailable for report in terminalreporter.stats.get("unavailable", []))
    for said, count in sorted(counted.items()):
        terminalreporter.write_line(f"unavailable ({count} test{'s' if count > 1 else ''}): {said}", yellow=True)
