"""Variants of real logos: which have a one-colour and a reversed form, and why the others have none.

    python benchmarks/vector_variants.py [FOLDER …]

Derives the variants of every SVG of COUNTERMARK_DATA's logos (default `../shared/data`) and looks whether their inner
edges survive, as a kit does. Prints the reasons; there is no bar on how many have one, and none without a reason.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.artboard import artboards
from countermark.vector.derivable import refusals
from countermark.vector.document import dump, load
from countermark.vector.resolve import resolve
from countermark.vector.svg.import_ import import_svg
from countermark.vector.variant import DERIVED

ROOT: Final = Path(__file__).resolve().parent.parent


def main(names: list[str]) -> int:
    """Print each refusal, and how many drawings have each variant."""
    data = Path(os.environ.get("COUNTERMARK_DATA", ROOT.parent / "shared" / "data"))
    folders = [Path(name) for name in names] or [data / "logos"]
    have: Counter[str] = Counter()
    total = 0
    for path in sorted(path for folder in folders for path in folder.glob("*.svg")):
        try:
            document = load(dump(import_svg(path.read_bytes(), name=path.name).document))
        except CountermarkError as error:
            print(f"  {path.stem:<28} {error.code}")
            continue
        total += 1
        found = refusals(resolve(document, artboards(document)[0]))
        have.update(DERIVED - found.keys())
        for name, reason in found.items():
            print(f"  {path.stem:<28} {name:<18} {reason[:100]}", flush=True)
    print(f"{total} drawings; " + ", ".join(f"{have[name]} have {name}" for name in sorted(DERIVED)))
    return 0 if total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
