"""`countermark scene render`: a scene as a picture, without a browser."""

from __future__ import annotations

import base64
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import click

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.scene.desk import Desk
from countermark.scene.render import SCALES, Format, Rendered
from countermark.scene.render import render as rendered
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.terminal import one_line, pairs, short

_LOW, _HIGH = SCALES
_SHOWN: Final = 8


@command(
    example="scene render plan --svg -o plan.svg",
    notes="Without -o, an SVG goes to standard output, and a PNG too where that is no terminal.",
)
@click.argument("name")
@click.option("--svg", "format_", flag_value="svg", default="svg", help="An SVG, which is what is made otherwise too.")
@click.option("--png", "format_", flag_value="png", help="A PNG.")
@click.option("-o", "--output", metavar="FILE", help="Write it here; a file that is there needs --replace.")
@click.option("--replace", is_flag=True, help="Put it in the place of a file that is there.")
@click.option("--revision", type=click.IntRange(0), help="An earlier revision that is kept.")
@click.option("--dark", is_flag=True, help="In the editor's dark colours.")
@click.option("--scale", type=click.FloatRange(_LOW, _HIGH), default=1.0, help="Times its size; a PNG's pixels.")
@click.option("--embed-scene", is_flag=True, help="Put the scene into the SVG: the editor can open it.")
@click.option("--no-fonts", is_flag=True, help="Leave the fonts out of the SVG: it names them only.")
@click.option("--no-background", is_flag=True, help="Leave the background out.")
def render(  # noqa: PLR0913 - one word for each thing that can be chosen
    call: Call,
    name: str,
    *,
    format_: Format,
    output: str | None,
    replace: bool,
    revision: int | None,
    dark: bool,
    scale: float,
    embed_scene: bool,
    no_fonts: bool,
    no_background: bool,
) -> Answer:
    """Render a scene as SVG or PNG, as the editor draws it.

    The editor's own export, in Node: the SVG is the browser's.
    """
    if output is None and format_ == "png" and not call.json and sys.stdout.isatty():
        raise CountermarkError(
            "input_invalid", "A PNG is not written to a terminal.", next_action="Name a file: -o FILE."
        )
    if format_ == "png" and (embed_scene or no_fonts):
        raise CountermarkError(
            "input_invalid",
            "--embed-scene and --no-fonts are for an SVG; a PNG holds neither a scene nor fonts.",
            next_action="Leave them out, or ask for an SVG.",
        )
    with call.open(working=True) as workspace, closing(Desk(workspace, actor="cli")) as desk:
        made = rendered(
            desk,
            name,
            revision=revision,
            format=format_,
            dark=dark,
            scale=scale,
            embed_scene=embed_scene,
            fonts=not no_fonts,
            background=not no_background,
        )
    for warning in made.warnings[:_SHOWN]:
        click.echo(f"not as it was drawn: {one_line(warning)}", err=True)
    if len(made.warnings) > _SHOWN:
        click.echo(f"and {len(made.warnings) - _SHOWN} more: see --json", err=True)
    if output is None and not call.json:
        return Answer({}, raw=made.data)
    if output is not None:
        write(Path(output), made.data, replace=replace)
    return Answer(_facts(made, output), _lines(made, output))


def write(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a picture; raise `output_exists` for a file that is there, unless it is to be replaced."""
    if path.name in {"", ".."}:
        raise CountermarkError("input_invalid", f"{path} is no file.", next_action="Name a file: -o FILE.")
    with Root(path.absolute().parent) as folder:
        if replace:
            folder.replace(path.name, data)
            return
        try:
            folder.create(path.name, data)
        except CountermarkError as error:
            if error.code != "output_exists":
                raise
            raise CountermarkError(
                "output_exists", f"{path} is there already.", next_action="Name another file, or add --replace."
            ) from error


def _facts(made: Rendered, output: str | None) -> dict[str, Any]:
    facts = made.facts()
    if output is not None:
        return {**facts, "file": output}
    text = made.data.decode() if made.format == "svg" else base64.b64encode(made.data).decode("ascii")
    return {**facts, made.format if made.format == "svg" else "png_base64": text}


def _lines(made: Rendered, output: str | None) -> list[str]:
    return [
        f"Rendered {made.name} to {one_line(output or '')}.",
        *pairs(
            ("revision", str(made.revision)),
            ("sha-256", short(made.sha256)),
            ("size", f"{made.width:g} by {made.height:g} px"),
            ("bytes", f"{len(made.data):,}"),
        ),
    ]
