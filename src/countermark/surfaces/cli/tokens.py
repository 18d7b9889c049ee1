"""`countermark vector tokens …`: design tokens in and out."""

from __future__ import annotations

import click

from countermark.kernel import beneath
from countermark.surfaces.cli import listing
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.carry import carry
from countermark.surfaces.cli.vector import answer, of_document, would, writing
from countermark.vector import palette, proposal, token, token_writer, tools
from countermark.vector.holding import Open


@command(example="vector tokens import brand.tokens.json", dry_run=True)
@click.argument("file")
@of_document
@writing
def import_tokens(
    call: Call, file: str, *, document: str | None, grant_id: str | None, revision: str | None, key: str | None
) -> Answer:
    """Give swatches the colours of a design token file (DTCG 2025.10).

    A token's path, joined with dots, names the swatch; swatches that there are none of are made. What was narrowed to
    sRGB, and what no swatch holds, is listed.
    """
    with call.open(working=True) as workspace:
        acting = grant_id or workspace.settings.grant
        data = beneath.open_argument(file, workspace.settings.max_input_mib << 20)
        if call.dry_run:
            wanted = proposal.propose_tokens(workspace, data, document=document)
            report = palette.apply(Open(workspace, document).document, token.read(data))[1].as_json()
            return would(workspace, wanted, acting, {"report": report}, listing.palette(report))
        made = carry(
            workspace,
            lambda: tools.apply_tokens(workspace, data, grant=acting, document=document, revision=revision, key=key),
        )
        report = made[1].get("report", {})
        new, other = len(report.get("created", ())), len(report.get("recoloured", ()))
        said = f"{new} {'swatch' if new == 1 else 'swatches'} made, {other} recoloured."
        return answer(workspace, made, said, listing.palette(report))


@command(example="vector tokens export --css")
@click.option("--css", is_flag=True, help="CSS custom properties in place of DTCG.")
@of_document
def export_tokens(call: Call, *, css: bool, document: str | None) -> Answer:
    """Print a document's swatches as design tokens."""
    with call.open() as workspace:
        found = Open(workspace, document).document
    named = token_writer.colours(found)
    text = (token_writer.css(named) if css else token_writer.dtcg(named, token_writer.aliases(found))).decode("utf-8")
    return Answer({"tokens": text}, text.rstrip("\n").split("\n"))
