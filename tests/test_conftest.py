"""The suite's own rules, each shown on a small suite that breaks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import conftest

pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(conftest.ROOT))
    monkeypatch.delenv("COUNTERMARK_REQUIRE_ALL", raising=False)
    pytester.makeconftest("from tests.conftest import *\nfrom tests.conftest import unavailable")
    return pytester


def outcome(suite: pytest.Pytester, text: str, *arguments: str) -> tuple[dict[str, int], str]:
    suite.makepyfile(text)
    # xdist's workers are processes; everything else is quicker in this one.
    run = suite.runpytest_subprocess if "-n" in arguments else suite.runpytest_inprocess
    ran = run("-p", "no:cacheprovider", *arguments)
    return ran.parseoutcomes(), ran.stdout.str()


@pytest.mark.promise("house.tests.nothing-skipped")
@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_missing_part_is_counted_and_named_as_unavailable(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    text = "from conftest import unavailable\ndef test_a(): unavailable('harp', 'no strings')\ndef test_b(): pass"
    counts, printed = outcome(suite, text, *workers)
    assert counts == {"passed": 1, "unavailable": 1}
    assert "unavailable (1 test): harp: no strings" in printed


@pytest.mark.promise("house.tests.nothing-skipped")
def test_a_missing_part_fails_where_all_parts_are_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERMARK_REQUIRE_ALL", "1")
    counts, printed = outcome(suite, "from conftest import unavailable\ndef test_a(): unavailable('harp', 'none')")
    assert counts == {"failed": 1}
    assert "harp: none" in printed


def test_a_missing_part_of_a_fixture_counts_for_each_test(suite: pytest.Pytester) -> None:
    text = """
        import pytest
        from conftest import unavailable
        @pytest.fixture(scope="session")
        def harp(): unavailable("harp", "no strings")
        def test_a(harp): ...
        def test_b(harp): ...
    """
    counts, printed = outcome(suite, text)
    assert counts == {"unavailable": 2}
    assert "unavailable (2 tests): harp: no strings" in printed


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\ndef test_a(): pytest.skip('later')",
        "import pytest\n@pytest.mark.skip(reason='later')\ndef test_a(): ...",
        "import pytest\n@pytest.mark.skipif(True, reason='later')\ndef test_a(): ...",
        "import pytest\ndef test_a(): pytest.importorskip('no_such_module')",
        "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self): self.skipTest('later')",
    ],
)
def test_any_other_skip_fails(suite: pytest.Pytester, text: str) -> None:
    counts, printed = outcome(suite, text)
    assert counts in ({"failed": 1}, {"errors": 1})
    assert "skipped otherwise than through unavailable" in printed


def test_a_module_that_skips_itself_fails(suite: pytest.Pytester) -> None:
    counts, printed = outcome(suite, "import pytest\npytest.skip('later', allow_module_level=True)")
    assert counts == {"errors": 1}
    assert "a module skipped itself" in printed


def test_what_one_worker_keeps_to_itself_comes_first(suite: pytest.Pytester) -> None:
    text = """
        import pytest
        def test_a(): ...
        @pytest.mark.xdist_group("long")
        def test_b(): ...
        def test_c(): ...
        @pytest.mark.xdist_group("long")
        def test_d(): ...
    """
    _, printed = outcome(suite, text, "--collect-only", "-q", "-p", "xdist")
    assert re.findall(r"::test_(\w)", printed) == ["b", "d", "a", "c"]


def test_folders_in_memory_are_for_where_there_is_room_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "MEMORY_BYTES", 0)
    assert conftest.roomy(tmp_path)
    assert not conftest.roomy(tmp_path / "nowhere")
    monkeypatch.setattr(conftest, "MEMORY_BYTES", 1 << 62)
    assert not conftest.roomy(tmp_path)


def test_shared_data_is_unavailable_where_its_folder_is_not(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERMARK_DATA", str(suite.path / "nowhere"))
    counts, printed = outcome(suite, "def test_a(shared_data): ...")
    assert counts == {"unavailable": 1}
    assert "shared data: " in printed
