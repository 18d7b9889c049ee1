"""Every way a command can fail, told in three lines or one JSON object: what happened, where, one next step."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.record.visible import visible
from countermark.surfaces.cli.call import Call, envelope
from countermark.surfaces.cli.terminal import paint

register(Ending.FAILED, "internal_error")
register(Ending.USAGE, "usage")

INTERRUPTED: Final = 130  # 128 + SIGINT, what a shell reports of a program that Ctrl-C ended
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE

_WORDS: Final = {
    Ending.FAILED: "Failed",
    Ending.USAGE: "Usage",
    Ending.NOT_FOUND: "Not found",
    Ending.REFUSED: "Refused",
    Ending.CONFLICT: "Conflict",
    Ending.UNKNOWN: "Unknown",
    Ending.UNAVAILABLE: "Unavailable",
}
_PLACES: Final = ("task", "grant", "resource", "path", "place", "file", "key", "secret")
_LABEL: Final = 13


class StoppedError(CountermarkError):
    """Ctrl-C, after what was under way was stopped or settled; the sentence says in which state it is."""

    def __init__(self, sentence: str, *, next_action: str, details: Mapping[str, Any] | None = None) -> None:
        """Say what became of the work."""
        super().__init__("cancelled", sentence, next_action=next_action, details=details)


def tell(call: Call, error: BaseException) -> int:
    """Write what went wrong, to standard error for people or as the envelope, and return the exit status."""
    if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and call.answering):
        sys.stdout = io.StringIO()  # what standard output would not take, the interpreter would try again at its end
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    call.command = call.command or _command(error)
    ours, status = _ours(call, error)
    try:
        if call.json:
            sys.stdout.write(envelope(call.command, error=ours.as_json(), exit_status=status))
            sys.stdout.flush()
        else:
            asked_nothing = isinstance(error, click.exceptions.NoArgsIsHelpError)
            sys.stderr.write(f"{error}\n" if asked_nothing else _lines(call, ours, status))
            sys.stderr.flush()
    except OSError:
        return PIPE_CLOSED if call.json else status
    return status


def _ours(call: Call, error: BaseException) -> tuple[CountermarkError, int]:
    if isinstance(error, StoppedError):
        return error, INTERRUPTED
    if isinstance(error, CountermarkError):
        return error, error.ending.value
    if isinstance(error, KeyboardInterrupt | click.Abort):
        stopped = StoppedError("Stopped by Ctrl-C; nothing was under way.", next_action="Run the same command again.")
        return stopped, INTERRUPTED
    if isinstance(error, click.ClickException):
        return _usage(error), Ending.USAGE.value
    return _unforeseen(call, error), Ending.FAILED.value


def _usage(error: click.ClickException) -> CountermarkError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "countermark"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return CountermarkError("usage", f"{path} needs a command.", next_action=f"See `{path} --help`.")
    text = " ".join(error.format_message().split())
    said = text if text.endswith((".", "?")) else f"{text}."
    return CountermarkError("usage", said, next_action=f"See `{path} --help`.")


def _command(error: BaseException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return context.command_path.partition(" ")[2] if context else ""


def _unforeseen(call: Call, error: BaseException) -> CountermarkError:
    if isinstance(error, OSError) and error.filename is None and call.answering:
        return CountermarkError(
            "io_failed",
            f"The answer could not be written to standard output ({error.strerror}); what was done stands.",
            next_action="Give standard output a place with room, and ask again.",
        )
    from countermark.surfaces.cli.journal import defect  # noqa: PLC0415 - heavy, and only for defects

    log = defect(call.folder, call.command, error)
    where = f"Its trace is in {log}." if log is not None else "Its trace could be written nowhere."
    return CountermarkError(
        "internal_error",
        f"Countermark itself is at fault ({type(error).__name__}).",
        next_action=f"{where} Look at the workspace with `countermark doctor`, and report the trace.",
        details={"log": str(log) if log is not None else None},
    )


def _lines(call: Call, error: CountermarkError, status: int) -> str:
    word = "Stopped" if status == INTERRUPTED else _WORDS[error.ending]
    tone = "yellow" if status in (INTERRUPTED, Ending.UNKNOWN.value, Ending.UNAVAILABLE.value) else "red"
    rows = ((f"{word}:", error.sentence), ("Where:", _where(call, error)), ("Next:", error.next_action))
    first = True
    text = ""
    for label, said in rows:
        # A sentence may quote names from outside: they neither steer the terminal nor break the line.
        plain = " ".join(visible(said).split())
        text += f"{paint(label.ljust(_LABEL), tone if first else 'dim', sys.stderr)}{plain}\n"
        first = False
    return text


def _where(call: Call, error: CountermarkError) -> str:
    named = [
        f"{name} {error.details[name]}" if name not in ("path", "place", "file") else str(error.details[name])
        for name in _PLACES
        if isinstance(error.details.get(name), str)
    ]
    found = [*named, *([str(call.folder)] if call.folder is not None else [])]
    command = f"countermark {call.command}".strip()
    return f"{', '.join(found) or command} ({error.code})"
