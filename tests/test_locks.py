"""The locks: by digest, from nowhere in particular, and agreeing with each other and with pyproject.toml."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import setup

ROOT: Final = Path(__file__).resolve().parent.parent
LAYERS: Final = ("run", "editor", "test", "lint", "bench")
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINNED: Final = re.compile(r"(?P<name>[a-z0-9-]+)(?:\[[a-z,]+\])?==(?P<version>\S+)")


def text_of(layer: str) -> str:
    return (ROOT / "requirements" / f"{layer}.txt").read_text(encoding="utf-8")


def pins(layer: str) -> set[tuple[str, str]]:
    found = (PINNED.match(line) for line in text_of(layer).splitlines())
    return {(match["name"], match["version"]) for match in found if match}


@pytest.mark.promise("house.setup.locked")
@pytest.mark.parametrize("layer", LAYERS)
def test_every_pinned_version_stands_with_its_digests_and_no_host(layer: str) -> None:
    text = text_of(layer)
    assert "://" not in text
    assert "--index-url" not in text
    starts = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(starts) > 20
    for line in starts:
        assert PINNED.match(line), line
        assert line.endswith(" \\"), line
    bodies = re.split(r"(?m)^(?=[a-z])", text)[1:]
    assert [body.partition("\n")[0] for body in bodies if "--hash=sha256:" not in body] == []


@pytest.mark.parametrize(("smaller", "larger"), [(small, large) for small in LAYERS for large in setup.LARGER[small]])
def test_a_larger_layer_holds_the_smaller_one_in_the_same_versions(smaller: str, larger: str) -> None:
    assert pins(smaller) - pins(larger) == set()


@pytest.mark.parametrize(("layer", "left_out"), [("run", {"scene-render"}), ("editor", set[str]())])
def test_the_demo_has_the_build_backend_and_every_extra_but_the_one_with_node_that_the_page_brings(
    layer: str, left_out: set[str]
) -> None:
    extras: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
    wanted = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["build-system"]["requires"],
        *itertools.chain(*(packages for name, packages in extras.items() if name not in left_out)),
    ]
    names = {re.split(r"[<>=\[ ]", requirement)[0] for requirement in wanted}
    assert names - {name for name, _ in pins(layer)} == set()
