"""The five operations of this domain, parsed once from a plan's payload into frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import InputRef, Plan
from countermark.kernel.publish import FILE

EFFECT: Final = "vector.write"
SUFFIX: Final = ".vectorcraft"
DOCUMENT: Final = "document"
SOURCE: Final = "source"
TOKENS: Final = "tokens"
BEFORE: Final = "before/"
PREVIOUS: Final = "previous-document"
MADE_BY: Final = "kit made by "
"""The version of the previous document is the engine that made its kit: only that one would make the same again."""


@dataclass(frozen=True, slots=True)
class Import:
    """Read an SVG into a new native document, or as one more artboard into the plan's document.

    `source` is the input's name as the person knows it.
    """

    source: str
    joins: bool


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind a colour to a swatch, in all objects that have it, in `only`, or in all but `leave`."""

    swatch: str
    colour: str
    only: tuple[int, ...] | None
    leave: tuple[int, ...]
    places: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SetColour:
    """Give a swatch another colour."""

    swatch: str
    colour: str


@dataclass(frozen=True, slots=True)
class ApplyTokens:
    """Give swatches the colours of a token file, which is the plan's input."""


@dataclass(frozen=True, slots=True)
class Kit:
    """Export every board of a document; `accept_loss` names losses that a person will answer for."""

    accept_loss: tuple[str, ...]


Change = Bind | SetColour | ApplyTokens
"""What changes colours and nothing else."""

Operation = Import | Change | Kit


def read(plan: Plan) -> Operation:
    """Return the operation of a plan; raise `input_invalid` naming the member that is wrong."""
    payload = plan.payload
    match plan.operation:
        case "import":
            joins = any(ref.name == DOCUMENT for ref in plan.inputs)
            found: Operation = Import(_text(payload, "source"), joins)
        case "swatch.bind":
            only = payload.get("only")
            found = Bind(
                _text(payload, "swatch"),
                _text(payload, "colour"),
                None if only is None else _ids(payload, "only"),
                _ids(payload, "leave"),
                _places(payload),
            )
        case "swatch.set":
            found = SetColour(_text(payload, "swatch"), _text(payload, "colour"))
        case "tokens.apply":
            input_of(plan, TOKENS)
            found = ApplyTokens()
        case "kit":
            names = payload.get("acceptLoss", [])
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise _wrong("acceptLoss", "a list of names")
            native_name(plan)
            found = Kit(tuple(names))
        case _:
            raise CountermarkError(
                "capability_missing",
                f"There is no vector operation {plan.operation!r}.",
                next_action="Use import, swatch.bind, swatch.set, tokens.apply or kit.",
            )
    if len(plan.resources) != 1 or not plan.resources[0].startswith(FILE):
        raise _wrong("resources", "one file or folder of the workspace")
    input_of(plan, SOURCE if isinstance(found, Import) else DOCUMENT)
    size(plan)
    boards(plan)
    return found


def size(plan: Plan) -> int:
    """Return the bytes that a plan may write at the most; raise `input_invalid` when it names no such number."""
    return _count(plan.payload, "bytes")


def boards(plan: Plan) -> int:
    """Return how many boards a plan has drawn, none for most; raise `input_invalid` when it names no such number."""
    return _count(plan.payload, "boards")


def input_of(plan: Plan, name: str) -> InputRef:
    """Return an input of a plan by name; raise `input_invalid` when it is not there."""
    for ref in plan.inputs:
        if ref.name == name:
            return ref
    raise _wrong("inputRefs", f"inputs with one named {name!r}")


def before(plan: Plan) -> Mapping[str, str]:
    """Return the digests of the files that stood in a kit before, by file name."""
    return {ref.name.removeprefix(BEFORE): ref.digest for ref in plan.inputs if ref.name.startswith(BEFORE)}


def native_name(plan: Plan) -> str:
    """Return the file name of a kit's native document: the one it has in the workspace."""
    return _text(plan.payload, "document")


def _count(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name, 0)
    if type(value) is not int or value < 0:
        raise _wrong(name, f"a whole number of {name}, zero or more")
    return value


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    if not isinstance(value, str) or not value:
        raise _wrong(name, "text")
    return value


def _ids(payload: Mapping[str, Any], name: str) -> tuple[int, ...]:
    value = payload.get(name, [])
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise _wrong(name, "a list of object ids")
    return tuple(value)


def _places(payload: Mapping[str, Any]) -> tuple[tuple[int, str], ...]:
    """Return the places of a plan: each `ID:PLACE`, such as `7:fill[0].stop[1]`."""
    found = []
    held = payload.get("places", [])
    for one in held if isinstance(held, list) else [None]:
        number, colon, place = one.partition(":") if isinstance(one, str) else ("", "", "")
        if not (number.isdecimal() and colon and place):
            raise _wrong("places", "a list of places such as 7:fill[0]")
        found.append((int(number), place))
    return tuple(found)


def _wrong(name: str, wanted: str) -> CountermarkError:
    return CountermarkError(
        "input_invalid",
        f"The plan's {name} must be {wanted}.",
        next_action="Correct the plan and try again.",
        details={"pointer": f"/payload/{name}"},
    )
