"""`countermark doctor`: what is well, what is not, and the next action for each that is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from countermark.kernel import doctor as law
from countermark.kernel.doctor import Line, Part, Standing
from countermark.kernel.errors import CountermarkError
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.terminal import one_line, paint

# What each extra brings, and the module whose import shows that it works here.
PARTS: Final = (
    Part("skia-python", "skia", "vector"),
    Part("resvg-py", "resvg_py", "vector"),
    Part("coloraide", "coloraide", "vector"),
    Part("pikepdf", "pikepdf", "vector"),
    Part("pypdfium2", "pypdfium2", "vector"),
    Part("pillow", "PIL.Image", "vector"),
    Part("numpy", "numpy", "vector"),
    Part("orjson", "orjson", "vector"),
    Part("jinja2", "jinja2", "vector"),
    Part("mcp", "mcp", "mcp"),
    Part("starlette", "starlette", "scene"),
    Part("uvicorn", "uvicorn", "scene"),
    Part("fonttools", "fontTools.ttLib", "scene"),
    Part("brotli", "brotli", "scene"),
    Part("uharfbuzz", "uharfbuzz", "scene"),
)
BUILD: Final = "In a checkout: `make editor`. Store, tools and commands work without it."
_TONES: Final = {Standing.OK: "green", Standing.WARN: "yellow", Standing.MISSING: "red"}


@command(example="doctor")
def doctor(call: Call) -> Answer:
    """Check this installation and this workspace, and say what to do.

    Exit status 7 when something is missing without which work cannot go on.
    """
    lines = [*law.examine(_folder(call), PARTS), *_page()]
    wire = [
        {
            "area": one.area.value,
            "name": one.name,
            "status": one.status.value,
            "sentence": one.sentence,
            "next": one.next,
        }
        for one in lines
    ]
    missing = [one for one in lines if one.status is Standing.MISSING]
    error = None
    if missing:
        error = CountermarkError(
            "part_unavailable",
            f"{', '.join(dict.fromkeys(one.name for one in missing))}: work cannot go on without.",
            next_action=missing[0].next,
            details={"lines": wire},
        )
    return Answer({"lines": wire}, _shown(lines), error=error)


def _page() -> Iterator[Line]:
    """Yield whether the drawing page is built, and whether text is measured with the editor's own fonts."""
    from countermark.surfaces.web.place import editor_folder  # noqa: PLC0415 - not for other commands
    from countermark.typeset.pieces import lacking  # noqa: PLC0415 - reads every font

    area = law.Area.CAPABILITY
    built = editor_folder() is not None
    yield (
        Line(area, "drawing page", Standing.OK, "is built")
        if built
        else Line(area, "drawing page", Standing.WARN, "is not built", BUILD)
    )
    yield _rendering()
    missing = lacking()
    yield (
        Line(area, "fonts", Standing.WARN, f"text in them is measured approximately: {'; '.join(missing)}", BUILD)
        if missing
        else Line(area, "fonts", Standing.OK, "every piece the editor draws with is here")
    )


def _rendering() -> Line:
    """Return whether scenes can be rendered without a browser."""
    from countermark.scene import node  # noqa: PLC0415 - not for other commands

    area, name = law.Area.CAPABILITY, "scene render"
    try:
        parts = node.find()
    except CountermarkError as error:
        return Line(area, name, Standing.WARN, error.sentence, error.next_action)
    return Line(area, name, Standing.OK, f"the editor's export runs in {parts.node}")


def _folder(call: Call) -> Path | None:
    try:
        return call.place()
    except CountermarkError:
        if call.workspace is not None:
            raise
        return None


def _shown(lines: Sequence[Line]) -> list[str]:
    shown: list[str] = []
    width = max(len(one.name) for one in lines)
    for area in law.Area:
        inside = [one for one in lines if one.area is area]
        if not inside:
            continue
        shown += ["", area.value] if shown else [area.value]
        for one in inside:
            mark = paint(one.status.value.ljust(7), _TONES[one.status], sys.stdout)
            shown.append(f"  {mark}  {one.name.ljust(width)}  {one_line(one.sentence)}")
            if one.next:
                shown.append(f"  {' ' * 7}  {' ' * width}  {paint(one_line(one.next), 'dim', sys.stdout)}")
    return shown
