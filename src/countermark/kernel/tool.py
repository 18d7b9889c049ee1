"""A public call of a domain, with its schema: MCP and HTTP are generated from these, the command line calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.perform import Performed
from countermark.kernel.state import State

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

Json = dict[str, Any]

KEY: Final[Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "Your idempotency key: the same key with the same arguments answers the first result.",
}
REVISION: Final[Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The revision you read: `sha256:…`, or `absent` for what is not there yet.",
}
GRANT: Final[Json] = {
    "type": "string",
    "maxLength": 200,
    "description": "The grant to act under; left out: the workspace's default.",
}


def write_schema(properties: Json, *required: str) -> Json:
    """Return the input schema of a tool that writes: the domain's members, key, revision and grant, nothing else."""
    members = {**properties, "idempotency_key": KEY, "expected_revision": REVISION, "grant": GRANT}
    return {
        "type": "object",
        "properties": members,
        "required": [*required, "idempotency_key", "expected_revision"],
        "additionalProperties": False,
    }


def read_schema(properties: Json, *required: str) -> Json:
    """Return the input schema of a tool that only reads."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that goes to the caller as a picture."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """Something long that the caller may fetch: its name, `countermark://…` address and media type."""

    name: str
    uri: str
    media_type: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answers: one sentence, a small JSON object, and links to what is long.

    Without a sentence the object alone is the text, in its canonical spelling.
    """

    summary: str
    data: Json
    links: tuple[Link, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """One public call. `call` gets the workspace and arguments that fit `schema`; it raises CountermarkError.

    `failure` makes what the caller gets of such an error, where a domain's contract has a form of its own.
    """

    name: str
    title: str
    description: str
    schema: Json
    call: Callable[[Workspace, Mapping[str, Any]], Result]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = field(default=False)
    failure: Callable[[CountermarkError], Json] | None = None


def task_data(done: Performed) -> Json:
    """Return what every write answers of its task."""
    return {
        "task": done.task,
        "state": done.state.value,
        "executed": done.executed.value,
        "repeated": done.repeated,
        "restored": list(done.restored),
    }


def receipt_link(done: Performed) -> tuple[Link, ...]:
    """Return the link to a task's receipt, once it has ended."""
    if done.state is State.REVIEW_READY:
        return ()
    return (Link("receipt.json", f"countermark://task/{done.task}/receipt", "application/vnd.dsse.envelope.v1+json"),)


def invalid(name: str, wanted: str) -> CountermarkError:
    """Return the error of an argument that does not fit."""
    return CountermarkError(
        "input_invalid",
        f"The argument {name} must be {wanted}.",
        next_action="Correct it and call again; nothing was done.",
        details={"pointer": f"/{name}"},
    )
