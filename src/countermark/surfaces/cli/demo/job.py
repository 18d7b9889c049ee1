"""The main job: the commands of the README, as anyone would give them for a logo of their own."""

from __future__ import annotations

from typing import Final

from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.shell import Shell

SWATCH: Final = "primary"
OF_THE_LOGO: Final = "#1a6cff"
OF_THE_BRAND: Final = "#0057ff"
LOOK_ALIKE: Final = "assay-bead"
"""It has the colour and is not of the brand: the one object that stays unbound."""


def main_job(shell: Shell) -> None:
    """Give the commands; raise `demo_failed` at the first that does not end as it has to."""
    shell.run(
        "init",
        place.WORKSPACE,
        also=f" && cd {place.WORKSPACE}",
        why="one folder, with a key that signs and a grant that allows",
    )
    shell.enter(place.WORKSPACE)
    shell.run("vector", "import", f"../{place.LOGO}", why="a native document, and what could not be carried over")
    into = ("--into", place.DOCUMENT)
    shell.run("vector", "import", f"../{place.STRIKE}", *into, why="a second drawing, on an artboard of its own")
    shell.run(
        "vector",
        "swatch",
        "bind",
        SWATCH,
        OF_THE_LOGO,
        "--leave",
        LOOK_ALIKE,
        why="what has this colour is bound to a name, but for the bead",
    )
    shell.run("vector", "kit", why="artboards as SVG and PNG, each checked by another engine")
    shell.run("vector", "swatch", "preview", SWATCH, OF_THE_BRAND, why="what that would touch, before it happens")
    shell.run("vector", "swatch", "set", SWATCH, OF_THE_BRAND, why="only what is bound changes")
    shell.run("vector", "kit", why="boards without a consumer stay byte-equal")
    shell.run("vector", "loss", why="what each file lost, measured again and compared with the kit's report")
    shell.run("receipt", "verify", "kit/", why="offline; on another machine too")
