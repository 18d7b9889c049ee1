"""The program: its commands by name, and the one way out of it, whatever happened.

Asking for help imports nothing but click: a command's module is loaded when that command is named. The one-line helps
stand here for that reason; a test compares them with the commands' own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

import click

from countermark.surfaces.cli.call import Call, Later, Wanted

if TYPE_CHECKING:
    from countermark.kernel.adapter import Adapter

PROGRAM: Final = "countermark"

TASK: Final[dict[str, Wanted | Later]] = {
    "list": Wanted("task:list_tasks", "List the newest tasks."),
    "show": Wanted("task:show", "Show one task: its state, its grant, its checks."),
    "why": Wanted("task:why", "Tell what happened to a task, and what to do next."),
    "accept": Wanted("decision:accept", "Accept the evidence of a task that waits, and publish its result."),
    "reject": Wanted("decision:reject", "End a task that waits, without publishing it."),
    "cancel": Wanted("decision:cancel", "Stop a task."),
    "reconcile": Wanted("decision:reconcile", "Settle a task whose process is gone or whose outcome is unknown."),
}
GRANT: Final[dict[str, Wanted | Later]] = {
    "list": Wanted("grant:list_grants", "List every grant and what it has left."),
    "show": Wanted("grant:show", "Show one grant and those it stands under."),
    "new": Wanted("grant:new", "Make a grant."),
    "narrow": Wanted("grant:narrow", "Make a grant that allows less than another."),
    "revoke": Wanted("grant:revoke", "Revoke a grant and all below it, and stop their tasks."),
}
RECEIPT: Final[dict[str, Wanted | Later]] = {
    "show": Wanted("receipt:show", "Show the receipt of a task, a folder or a file."),
    "verify": Wanted("receipt:verify", "Verify a folder against its receipt, offline."),
}
KEY: Final[dict[str, Wanted | Later]] = {
    "show": Wanted("key:show", "Show the public key that others verify with."),
    "rotate": Wanted("key:rotate", "Sign with a new key from now on."),
    "trust": Wanted("key:trust", "Trust somebody's public key under a name."),
}
LEDGER: Final[dict[str, Wanted | Later]] = {
    "check": Wanted("ledger:check", "Check the ledger, its chain of events and the stored bytes."),
    "backup": Wanted("ledger:backup", "Write a consistent copy of the ledger into a new folder."),
    "restore": Wanted("ledger:restore", "Put a backed up ledger in the place of this one."),
    "events": Wanted("ledger:events", "List events, oldest first."),
}
SWATCH: Final[dict[str, Wanted | Later]] = {
    "bind": Wanted("vector:bind", "Bind the objects of a colour to a swatch."),
    "set": Wanted("vector:set_colour", "Give a swatch another colour; only what is bound to it changes."),
    "preview": Wanted("looking:preview", "Show which objects and artboards another colour would change."),
    "list": Wanted("vector:list_swatches", "List swatches, what is bound to them, and colours that are not bound."),
}
TOKENS: Final[dict[str, Wanted | Later]] = {
    "import": Wanted("tokens:import_tokens", "Give swatches the colours of a design token file (DTCG 2025.10)."),
    "export": Wanted("tokens:export_tokens", "Print a document's swatches as design tokens."),
}
VECTOR: Final[dict[str, Wanted | Later]] = {
    "import": Wanted("vector:import_svg", "Import an SVG as a native document."),
    "read": Wanted("vector:read", "Show what a native document holds."),
    "diff": Wanted("looking:diff", "Compare two documents object by object."),
    "swatch": Later(SWATCH, help="Bind, set, preview and list swatches.", example="vector swatch list"),
    "tokens": Later(TOKENS, help="Design tokens in and out.", example="vector tokens export --css"),
    "kit": Wanted("vector:kit", "Export every artboard, each checked by another engine."),
    "loss": Wanted("looking:loss", "Measure again what each file of a kit lost, and compare it with the kit's report."),
}
SCENE: Final[dict[str, Wanted | Later]] = {
    "list": Wanted("scene:list_scenes", "List the scenes of the folder."),
    "show": Wanted("scene:show", "Show what a scene holds."),
    "create": Wanted("scene:create", "Create a scene, empty or with elements."),
    "apply": Wanted("scene:apply", "Apply operations to a scene: add, update, delete."),
    "rename": Wanted("scene:rename", "Give a scene another name, with its history."),
    "trash": Wanted("scene_trash:trash", "Put a scene into the trash, with its history, or list what lies there."),
    "untrash": Wanted("scene_trash:untrash", "Bring a scene back out of the trash, with its history."),
    "import": Wanted("scene_import:import_scene", "Import a drawing that another program wrote."),
    "search": Wanted("scene_search:search", "Find a text in all scenes of the folder."),
    "diff": Wanted("scene_diff:diff", "Say what differs between two revisions of a scene."),
    "lint": Wanted("scene_lint:lint", "Find what looks wrong in a scene, and suggest what would mend it."),
    "watch": Wanted("scene_watch:watch", "Tell every change of a scene, or of all, as it happens."),
    "history": Wanted("scene:history", "List the revisions of a scene that are kept."),
    "restore": Wanted("scene:restore", "Bring an earlier revision back, as the next one."),
    "repair": Wanted("scene:repair", "Repair references, bindings, ids and order of a scene."),
    "render": Wanted("picture:render", "Render a scene as SVG or PNG, as the editor draws it."),
}

COMMANDS: Final[dict[str, Wanted | Later]] = {
    "init": Wanted("init:init", "Make a workspace, with its key and its default grant."),
    "demo": Wanted("demo:demo", "Run the main job on a real logo, or on a diagram, and the four moments."),
    "doctor": Wanted("doctor:doctor", "Check this installation and this workspace, and say what to do."),
    "task": Later(TASK, help="Look at tasks, and decide on those that wait.", example="task list"),
    "grant": Later(GRANT, help="See, make, narrow and revoke grants.", example="grant list"),
    "receipt": Later(RECEIPT, help="Show and verify receipts.", example="receipt verify kit/"),
    "key": Later(KEY, help="The workspace's signing key, and the keys it trusts.", example="key show"),
    "ledger": Later(LEDGER, help="Check, back up, restore and read the ledger.", example="ledger check"),
    "vector": Later(VECTOR, help="Brand documents: import, swatches, the kit.", example="vector import logo.svg"),
    "scene": Later(SCENE, help="Excalidraw scenes: draw, change, bring back.", example="scene list"),
    "serve": Wanted("serve:serve", "Open a folder of scenes in the browser, with the real editor."),
    "mcp": Wanted("mcp:mcp", "Serve the tools of a domain to an agent, over standard input and output."),
}

root: Final = Later(
    COMMANDS,
    help="Real tools for agents on real things: a grant, a revision and a key in, a receipt out.",
    example="init mybrand",
)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted and not context.resilient_parsing:
        from importlib import metadata  # noqa: PLC0415 - a third of what help may cost

        try:
            click.echo(f"{PROGRAM} {metadata.version(PROGRAM)}")
        except metadata.PackageNotFoundError:
            click.echo(f"{PROGRAM}, run from its source without being installed")
        context.exit()


root.params.append(
    click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
    )
)


def run(arguments: Sequence[str], *, adapters: Callable[[], Sequence[Adapter]] | None = None) -> int:
    """Run one command and return its exit status; nothing it meets ends in a traceback.

    `adapters` brings the domains a workspace works with, by default all that are installed.
    """
    call = Call(json="--json" in _options(arguments), adapters=adapters)
    try:
        answer = root.main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=call)
        return answer if isinstance(answer, int) else call.show(answer)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the one place where every error is told
        from countermark.surfaces.cli import failure  # noqa: PLC0415 - only when something went wrong

        return failure.tell(call, error)


def _options(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments before `--`: how to speak must be known before a usage error is told."""
    return arguments[: list(arguments).index("--")] if "--" in arguments else arguments


def main() -> NoReturn:
    """Run the program on its command line."""
    sys.exit(run(sys.argv[1:]))
