"""Write LICENSES: the licence text of every package and font that stands in the built page and its export for Node.

`python editor/licences.py` writes it from the two `packages.json` (what Vite really bundled), the texts in
`node_modules`, and the folder `licences/` for packages that ship without one. `--check` compares instead of writing
and ends with status 1 where a text is missing or the file is not what it would write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
BUILT: Final = HERE / "countermark_editor"
LISTED: Final = (BUILT / "dist" / "packages.json", BUILT / "render" / "packages.json")
WRITTEN: Final = HERE / "LICENSES"
TEXTS: Final = HERE / "licences"
NAMES: Final = ("license", "licence", "copying", "notice")
# Packages whose npm archive has no licence file; the text is their repository's.
WITHOUT: Final = {
    "@excalidraw/excalidraw": "excalidraw",
    "@radix-ui/": "radix-ui",
    "fastdom": "fastdom",
    "react-remove-scroll-bar": "react-remove-scroll-bar",
}
# Compiled into the editor's own archive, so no module of theirs shows in the bundle.
INSIDE: Final = {"@excalidraw/excalidraw": ("fonteditor-core", "harfbuzzjs", "harfbuzz", "woff2", "brotli")}


def texts(folder: Path, name: str) -> list[str]:
    """Return the licence texts of one package; raise LookupError where there is none."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.lower().startswith(NAMES))
    if files:
        return [file.read_text("utf-8").strip() for file in files]
    for prefix, text in WITHOUT.items():
        if name == prefix or (prefix.endswith("/") and name.startswith(prefix)):
            return [(TEXTS / f"{text}.txt").read_text("utf-8").strip()]
    raise LookupError(f"{name} has no licence text in node_modules and none in {TEXTS.name}/")


def folders() -> dict[tuple[str, str], Path]:
    """Where every installed package lies, by name and version."""
    found: dict[tuple[str, str], Path] = {}
    for file in sorted((HERE / "node_modules").rglob("package.json")):
        try:
            said = json.loads(file.read_bytes())
        except ValueError:  # packages ship broken ones as test data
            continue
        if isinstance(said, dict) and isinstance(said.get("name"), str) and isinstance(said.get("version"), str):
            found.setdefault((said["name"], said["version"]), file.parent)
    return found


def compose() -> str:
    """Return the whole text: each licence once, under all names it belongs to."""
    lists = [json.loads(file.read_bytes()) for file in LISTED]
    packages = {(one["name"], one["version"]) for listed in lists for one in listed["packages"]}
    where = folders()
    under: dict[str, list[str]] = {}
    for name, version in sorted(packages):
        for text in texts(where[name, version], name):
            under.setdefault(text, []).append(f"{name} {version}")
        for part in INSIDE.get(name, ()):
            text = (TEXTS / f"{part}.txt").read_text("utf-8").strip()
            under.setdefault(text, []).append(f"{part} (inside {name} {version})")
    for font in sorted({font for listed in lists for font in listed["fonts"]}):
        text = (TEXTS / f"{font}.txt").read_text("utf-8").strip()
        under.setdefault(text, []).append(f"the font {font}")
    blocks = sorted((sorted(names), text) for text, names in under.items())
    head = "The built page contains the packages and fonts below, each under the licence that follows its name.\n"
    return head + "".join(f"\n{'=' * 100}\n{chr(10).join(names)}\n{'-' * 100}\n{text}\n" for names, text in blocks)


def main() -> int:
    """Write or check; return the exit status."""
    try:
        text = compose()
    except (OSError, LookupError) as error:
        print(f"licences: {error}", file=sys.stderr)
        return 1
    if "--check" not in sys.argv[1:]:
        WRITTEN.write_text(text, "utf-8")
        return 0
    if WRITTEN.is_file() and WRITTEN.read_text("utf-8") == text:
        return 0
    print("licences: LICENSES is not what the bundle needs; run python editor/licences.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
