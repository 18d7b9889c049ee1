"""One invocation: the flags every command takes, the workspace it works on, and how its answer is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

if TYPE_CHECKING:
    from pathlib import Path

    from countermark.kernel.adapter import Adapter
    from countermark.kernel.errors import CountermarkError
    from countermark.kernel.workspace import Workspace

ENVIRONMENT: Final = "COUNTERMARK_WORKSPACE"
_HERE: Final = "countermark.surfaces.cli"


class Answer(NamedTuple):
    """What a command found or did.

    `data` holds JSON values for `--json`; `lines` say the same to a person; `raw` are bytes that are written as they
    are, whatever the flags. `error` ends the program with its exit status after the lines were shown.
    """

    data: Mapping[str, Any]
    lines: Sequence[str] = ()
    raw: bytes | None = None
    error: CountermarkError | None = None


class Call:
    """The flags of one invocation, and what it opens; every command gets it as its first argument."""

    def __init__(self, *, json: bool, adapters: Callable[[], Sequence[Adapter]] | None = None) -> None:
        """Begin an invocation; the command sets the rest when its options are read."""
        self.json = json
        self.command = ""
        self.workspace: str | None = None
        self.dry_run = False
        self.folder: Path | None = None
        self.answering = False
        self._adapters = adapters

    def place(self) -> Path:
        """Return the workspace's folder: named, else the nearest one from here upward; raise `workspace_missing`."""
        from countermark.surfaces.cli import opening  # noqa: PLC0415 - not for help

        self.folder = opening.find(self.workspace or os.environ.get(ENVIRONMENT))
        return self.folder

    @contextmanager
    def open(self, *, working: bool = False) -> Iterator[Workspace]:
        """Open the workspace; `working` brings the domains that are installed, for commands that have effects."""
        from countermark.surfaces.cli import opening  # noqa: PLC0415 - not for help

        adapters = (self._adapters or opening.installed)() if working else ()
        with opening.logged(self.place(), adapters) as workspace:
            yield workspace

    def show(self, answer: Answer | None) -> int:
        """Write an answer to standard output and return the exit status."""
        if answer is None:
            return 0
        if answer.error is not None and self.json:
            raise answer.error
        self.answering = True
        if answer.raw is not None:
            sys.stdout.buffer.write(answer.raw)
        elif self.json:
            sys.stdout.write(envelope(self.command, data=self._data(answer), exit_status=0))
        else:
            sys.stdout.writelines(f"{line}\n" for line in answer.lines)
        sys.stdout.flush()
        self.answering = False
        if answer.error is not None:
            raise answer.error
        return 0

    def _data(self, answer: Answer) -> dict[str, Any]:
        return {**answer.data, **({"dry_run": True} if self.dry_run else {})}


def envelope(
    command: str,
    *,
    exit_status: int,
    data: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
) -> str:
    """Return the one JSON envelope: ok, command, data or error, exit."""
    import json  # noqa: PLC0415 - not for help

    part = {"error": error} if error is not None else {"data": data}
    wire = {"ok": error is None, "command": command, **part, "exit": exit_status}
    # ASCII on the wire: what is not printable, or no text at all, cannot disturb whoever reads the line.
    return json.dumps(wire, allow_nan=False) + "\n"


class Wanted(NamedTuple):
    """A command that is not loaded yet: `module:function` below this package, and its one line of help."""

    where: str
    help: str


class Later(click.Group):
    """A group that loads a command's module when that command is named, not before."""

    def __init__(self, wanted: Mapping[str, Wanted | Later], *, help: str, example: str) -> None:  # noqa: A002 - click's
        """Offer these commands, in this order."""
        super().__init__(help=help, epilog=_epilog(example))
        self.wanted = dict(wanted)
        self.params.extend(_common(dry_run=False))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they were given."""
        del ctx
        return list(self.wanted)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command by name, or return None."""
        del ctx
        wanted = self.wanted.get(cmd_name)
        if wanted is None or isinstance(wanted, Later):
            if wanted is not None:
                wanted.name = cmd_name
            return wanted
        from countermark.surfaces.cli import opening  # noqa: PLC0415 - not for help

        module, _, attribute = wanted.where.partition(":")
        command: click.Command = getattr(opening.module(f"{_HERE}.{module}"), attribute)
        command.name = cmd_name
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named, or say which one may have been meant."""
        if args[0] not in self.wanted and args[0][:1].isalnum():
            from difflib import get_close_matches  # noqa: PLC0415 - not for help

            near = get_close_matches(args[0], self.wanted, n=1)
            hint = f" Did you mean `{ctx.command_path} {near[0]}`?" if near else ""
            ctx.fail(f"{ctx.command_path} has no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their one line of help, without loading them."""
        del ctx
        rows = [(name, (wanted.help or "").strip()) for name, wanted in self.wanted.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Leaf(click.Command):
    """A command that does something: it takes the common flags and answers."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command on the call it belongs to."""
        call = ctx.ensure_object(Call)
        call.command = ctx.command_path.partition(" ")[2]
        return super().invoke(ctx)


def command(
    *, example: str, dry_run: bool = False, notes: str = ""
) -> Callable[[Callable[..., Answer | None]], click.Command]:
    """Make a function the body of a command: called with the `Call` and the parameters, it returns its answer.

    `dry_run` gives the command that flag; the function looks at `call.dry_run` before it does anything. `notes` are
    lines for the end of its help.
    """

    def decorate(function: Callable[..., Answer | None]) -> click.Command:
        made = click.command(cls=Leaf, epilog=_epilog(example, notes))(click.pass_obj(function))
        made.params.extend(_common(dry_run=dry_run))
        return made

    return decorate


def _epilog(example: str, notes: str = "") -> str:
    return f"\b\nExample:\n  countermark {example}" + (f"\n\n\b\n{notes}" if notes else "")


def _common(*, dry_run: bool) -> list[click.Parameter]:
    options = [
        click.Option(
            ["--workspace"],
            metavar="DIR",
            expose_value=False,
            callback=_remember,
            help=f"The workspace; by default the one around the current folder, or ${ENVIRONMENT}.",
        ),
        click.Option(
            ["--json"], is_flag=True, expose_value=False, callback=_remember, help="Answer with one JSON object."
        ),
    ]
    if dry_run:
        options.insert(
            0,
            click.Option(
                ["--dry-run"],
                is_flag=True,
                expose_value=False,
                callback=_remember,
                help="Say what would be done, and do nothing.",
            ),
        )
    return list(options)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value and option.name is not None:
        setattr(context.ensure_object(Call), option.name, value)
