from __future__ import annotations

import ast
import shutil
from importlib import metadata
from pathlib import Path

import pytest

import countermark
from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine
from countermark.vector import identity, makers


def test_an_installed_engine_has_a_label_and_the_same_digest_each_time() -> None:
    first, again = identity.distribution("pillow"), identity.distribution("pillow")

    assert first == again
    assert first.label == f"pillow {metadata.version('pillow')}"
    assert len(first.digest) == 64


def installed(folder: Path, name: str, files: dict[str, str]) -> None:
    info = folder / f"{name}-1.0.dist-info"
    for place, text in {**files, f"{info.name}/METADATA": f"Name: {name}\nVersion: 1.0\n"}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    rows = [f"{place},," for place in [*files, f"{info.name}/METADATA", f"{info.name}/RECORD"]]
    (info / "RECORD").write_text("\n".join(rows))


def test_one_changed_byte_of_an_installed_file_is_another_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "drawer", {"drawer/a.py": "1", "drawer/b.py": "22"})
    before = identity.distribution("drawer")

    (tmp_path / "drawer/b.py").write_text("23")

    assert identity.distribution("drawer").label == before.label
    assert identity.distribution("drawer").digest != before.digest


def test_the_place_and_what_python_compiled_are_no_part_of_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"drawer/a.py": "1"}
    installed(tmp_path / "here", "drawer", files)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    installed(tmp_path / "there", "drawer", files | {"drawer/__pycache__/a.cpython-311.pyc": "compiled"})
    found = []
    for place in ("here", "there"):
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(tmp_path / place))
            found.append(identity.distribution("drawer"))

    assert found[0] == found[1]


def test_an_engine_that_is_missing_or_incomplete_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "drawer", {"drawer/a.py": "1"})
    (tmp_path / "drawer/a.py").unlink()

    for name in ("drawer", "nobody-offers-this"):
        with pytest.raises(CountermarkError) as caught:
            identity.distribution(name)
        assert caught.value.code == "part_unavailable"


def test_every_maker_is_another_engine_than_every_observer() -> None:
    made = makers.all_makers()
    observers = [identity.distribution(name) for name in ("resvg_py", "pillow", "pypdfium2")]
    observers.append(identity.interpreter())

    assert made.keys() == {"png", "svg", "native", "pdf", "kit"}
    assert len({engine.digest for engine in [*made.values(), *observers]}) == 9


PACKAGE = Path(countermark.__path__[0])


def imported(module: str) -> set[str]:
    """Return the modules of vector and raster that a module imports, in either way of writing it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = {name.removeprefix("countermark.").replace(".", "/") + ".py" for name in found}
    return {name for name in files if name.startswith(("vector/", "raster/")) and (PACKAGE / name).is_file()}


@pytest.mark.parametrize(
    "parts",
    [
        ["vector/brush.py", "vector/draw.py", "vector/shader.py"],
        ["vector/svg_spelling.py", "vector/svg_writer.py"],
        identity.modules("vector/svg"),
    ],
)
def test_an_identity_names_every_source_that_decides_about_the_result(parts: list[str]) -> None:
    # What the drawer, the writer and the importer import of this package, but for the kernel, is part of who they are.
    named = {*makers.READING, *parts}

    missing = {module: imported(module) - named for module in named}

    assert not {module: names for module, names in missing.items() if names}
    assert imported("vector/shape.py") == {"vector/container.py", "vector/member.py"}


def test_two_labels_on_the_same_parts_are_one_engine() -> None:
    one, other = Engine("a", "1" * 64), Engine("b", "2" * 64)

    assert identity.together("x", one, other).digest == identity.together("y", other, one).digest
