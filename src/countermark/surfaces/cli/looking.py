"""Looks at brand documents and kits that change nothing: a colour before it is set, and what a kit's files lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.surfaces.cli import listing
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.vector import of_document, whole_name
from countermark.vector import proposal
from countermark.vector.comparison import diff as compare_documents
from countermark.vector.rechecking import recheck


@command(example="vector swatch preview primary '#0057ff'")
@click.argument("name")
@click.argument("colour")
@click.option("--pictures", metavar="DIR", type=click.Path(path_type=Path), help="Write pictures into this new folder.")
@of_document
def preview(call: Call, name: str, colour: str, *, pictures: Path | None, document: str | None) -> Answer:
    """Show which objects and artboards another colour would change.

    Nothing is changed. With --pictures every artboard it reaches is drawn as it is and as it would be.
    """
    from countermark.vector.preview import preview as look  # noqa: PLC0415 - draws, with 50 MB

    with call.open() as workspace:
        found = look(workspace, name, colour, document=document)
    written: list[str] = []
    if pictures is not None:
        named = [f"artboard-{one}-{when}.png" for one in found.data["pictured"] for when in ("before", "after")]
        with Root(pictures.absolute().parent) as parent:
            if parent.exists(pictures.name):
                raise CountermarkError(
                    "output_exists", f"{pictures} exists already.", next_action="Name a folder that is not there yet."
                )
            parent.make_dir(pictures.name)
            for one, picture in zip(named, found.pictures, strict=True):
                parent.create(f"{pictures.name}/{one}", picture.data)
        written = [f"{pictures}/{one}" for one in named]
    rows = [(str(one["id"]), one["name"]) for one in found.data["artboards"]]
    report = {"changed": found.data["objects"], "lookalikes": found.data["lookalikes"]}
    lines = [found.summary, *listing.report(report, "would become"), *listing.titled("artboards", rows)]
    return Answer(
        {**found.data, "pictures": written}, [*lines, *listing.titled("pictures", [(one,) for one in written])]
    )


@command(example="vector diff old.vectorcraft new.vectorcraft")
@click.argument("before", callback=whole_name)
@click.argument("after", callback=whole_name)
def diff(call: Call, before: str, after: str) -> Answer:
    """Compare two documents object by object.

    Objects are the same by id; colours are told place by place.
    """
    with call.open() as workspace:
        found = compare_documents(workspace, before, after)
    rows = [(one["kind"], one["id"], one["name"], one["what"]) for one in found.data["changes"]]
    return Answer(found.data, [found.summary, *listing.titled("differences", rows)])


@command(example="vector loss")
@click.argument("folder", default=proposal.KIT)
def loss(call: Call, folder: str) -> Answer:
    """Measure again what each file of a kit lost, and compare it with the kit's report.

    Two engines that drew none of it look at the files; what the report says is never believed.
    """
    with call.open() as workspace:
        found = recheck(workspace, folder)
    lost: dict[str, list[str]] = {}
    for one in found.data["outputs"]:
        lost.setdefault(", ".join(one["lost"]) or "nothing", []).append(one["file"])
    rows = [(_spoken_files(names), what) for what, names in lost.items()]
    worst = [
        (str(one["name"] or f"object {one['object']}"), one["format"], f"{one['off']} of {one['painted']} pixels off")
        for one in found.data["worst"]
    ]
    return Answer(found.data, [found.summary, *listing.titled("lost", rows), *listing.titled("differ most", worst)])


def _spoken_files(names: Sequence[str]) -> str:
    """Return one name, or how many files of each kind there are: a kit has dozens that lost the same."""
    if len(names) == 1:
        return names[0]
    kinds = Counter(name.rpartition(".")[2] for name in names)
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items())
