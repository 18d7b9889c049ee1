"""Which variants in other inks a drawing has: derived, drawn small, and looked at before anybody is promised one."""

from __future__ import annotations

from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.raster import edge
from countermark.raster.picture import decode_png
from countermark.vector.display import Display
from countermark.vector.draw import draw_display
from countermark.vector.variant import DERIVED, TREATMENTS, cut, treated

SIDE: Final = 512


def refusals(shown: Display) -> dict[str, str]:
    """Return the variants that a drawing does not have, each with the reason."""
    source = decode_png(draw_display(shown, SIDE, SIDE))
    found = {}
    for name in sorted(DERIVED):
        try:
            made = decode_png(draw_display(treated(shown, name, SIDE, SIDE), SIDE, SIDE))
        except CountermarkError as error:
            if error.code != "variant_not_derivable":
                raise
            found[name] = str(error.sentence.partition(": ")[2].rstrip("."))
            continue
        seen = edge.survival(made, source, TREATMENTS[name].share, cut(name, SIDE))
        if not seen.whole:
            found[name] = (
                f"{seen.edges - seen.kept} of {seen.edges} inner edge pixels would be lost, "
                f"and {seen.beside} pixels of ink would lie beside the drawing"
            )
    return found
