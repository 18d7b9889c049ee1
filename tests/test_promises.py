"""Promises and tests, checked both ways."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parent
PROMISES: Final = tomllib.loads((TESTS / "promises.toml").read_text(encoding="utf-8"))["promise"]
SHAPE: Final = re.compile(r"[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*){2}")

Named = tuple[str, str]
"""A promise's id and the test that says it shows it."""


def test_every_promise_is_one_a_user_could_quote() -> None:
    for promise in PROMISES:
        assert set(promise) == {"id", "sentence", "source"}, promise
        assert SHAPE.fullmatch(promise["id"]), promise["id"]
        assert promise["sentence"].endswith("."), promise["id"]
        assert len(promise["sentence"]) < 200, promise["id"]
        assert promise["source"].strip(), promise["id"]
    ids = [promise["id"] for promise in PROMISES]
    assert sorted(set(ids)) == sorted(ids), "an id stands twice"


def test_every_promise_has_a_test() -> None:
    shown = {name for path in sorted(TESTS.rglob("test_*.py")) for name, _ in promises_in(path)}
    assert {promise["id"] for promise in PROMISES} - shown == set()


def test_every_promise_that_a_test_names_exists() -> None:
    known = {promise["id"] for promise in PROMISES}
    unknown = [
        named for path in sorted(TESTS.rglob("test_*.py")) for named in promises_in(path) if named[0] not in known
    ]
    assert unknown == []


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.promise('a.b.c')\ndef helper(): ...",
        "@pytest.mark.promise(NAME)\ndef test_x(): ...",
        "@pytest.mark.promise('a.b.c', 'd.e.f')\ndef test_x(): ...",
        "@pytest.mark.promise\ndef test_x(): ...",
        "pytestmark = [pytest.mark.promise('a.b.c')]",
        "def test_x():\n    pytest.mark.promise('a.b.c')",
    ],
)
def test_a_promise_named_anywhere_but_on_one_test_is_refused(text: str, tmp_path: Path) -> None:
    module = tmp_path / "test_sample.py"
    module.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError):
        list(promises_in(module))


def promises_in(path: Path) -> Iterator[Named]:
    """Yield every promise that a test function of the module claims to show; refuse a marker anywhere else."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    claimed: set[ast.AST] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not function.name.startswith("test_"):
            continue
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.promise":
                match decorator.args:
                    case [ast.Constant(value=str(name))] if not decorator.keywords:
                        claimed.add(decorator.func)
                        yield name, f"{path.relative_to(path.parent.parent)}::{function.name}"
    stray = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.promise" and node not in claimed
    ]
    assert stray == [], f"{path}: pytest.mark.promise takes one literal id, on a test function; see lines {stray}"
