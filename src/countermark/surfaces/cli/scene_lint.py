"""`countermark scene lint`: what is wrong with how a scene looks, and the operations that would mend it."""

from __future__ import annotations

import json
from itertools import groupby

import click

from countermark.scene.lint import lint as linted
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.scene_call import open_desk
from countermark.surfaces.cli.terminal import count, one_line


@command(
    example="scene lint plan",
    notes="To do what is suggested:\n  countermark scene lint plan --operations > mend.json\n"
    "  countermark scene apply plan mend.json",
)
@click.argument("name")
@click.option("--operations", is_flag=True, help="Give the suggested operations alone, as `scene apply` takes them.")
def lint(call: Call, name: str, *, operations: bool) -> Answer:
    """Find what looks wrong in a scene, and suggest what would mend it.

    Text out of its shape, things over each other, children out of their frame, arrows through boxes, arrow ends at a
    shape that they are not attached to. Nothing is changed.
    """
    with open_desk(call) as desk:
        found = desk.read(name)
        report = linted(found.scene)
    data = {"name": found.name, "revision": found.revision, "sha256": found.sha256, **report.wire()}
    suggested = data["operations"]
    if operations:
        return Answer(data, [json.dumps(suggested, ensure_ascii=False, indent=2)])
    if not report.findings:
        return Answer(data, [f"{found.name}: nothing looks wrong."])
    total = len(report.findings) + report.left
    lines = [f"{found.name}, revision {found.revision}: {count(total, 'finding')}."]
    for rule, findings in groupby(report.findings, key=lambda finding: finding.rule):
        lines += ["", rule, *(f"  {one_line(finding.message)}" for finding in findings)]
    if report.left:
        lines += ["", f"and {report.left} more."]
    if suggested:
        many = count(len(suggested), "operation")
        lines += ["", f"{many} would mend some of it: `countermark scene lint {one_line(found.name)} --operations`."]
    return Answer(data, lines)
