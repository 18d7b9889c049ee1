"""The one wire form of a receipt's facts: predicate type `urn:countermark:receipt:v1`.

Each type is spelled by one table, and both directions run through it: what this module writes it also reads, and a
member that the table does not know is refused. Every member is always present; `null` says there is nothing to say.
Wire names are the field names in camelCase, which gives seed 1 §10's names to the letter.

Writing goes straight to RFC 8785 text, because a receipt is made for every task: `canon.canonical` over the same facts
takes about nine times as long. The tests compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, NoReturn, get_args

from countermark.kernel import facts as said
from countermark.kernel.plan import InputRef, RuntimeIdentity
from countermark.kernel.proof import AcceptanceRule, Engine, Status, Verdict
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.state import TERMINAL

LARGEST: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8785 §3.2.2.3)."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class FormError(ValueError):
    """A value that the table refuses; `at` is the JSON pointer of its place."""

    def __init__(self, wanted: str) -> None:
        """Say what was wanted, at a place that is not known yet."""
        super().__init__(wanted)
        self.wanted = wanted
        self.at = ""

    def under(self, step: str | int) -> FormError:
        """Put one step in front of the pointer and return this error."""
        self.at = f"/{step}{self.at}"
        return self


class Form(NamedTuple):
    """How one kind of value is written as canonical JSON text and read from parsed JSON.

    `read` raises `FormError`. `write` may also raise KeyError or TypeError, which `written` turns into a `FormError`
    that says what is `wanted`: so the cheapest function that refuses everything foreign can do the writing.
    """

    wanted: str
    write: Callable[[Any], str]
    read: Callable[[Any], Any]


def written(form: Form, value: Any) -> str:
    """Return the canonical JSON text of a value; raise `FormError`."""
    try:
        return form.write(value)
    except (KeyError, TypeError):
        raise FormError(form.wanted) from None


def _refuse(wanted: str) -> NoReturn:
    raise FormError(wanted)


def word(members: Iterable[StrEnum]) -> Form:
    """Return the form of a closed set of words."""
    known = {member.value: member for member in members}
    wanted = f"one of {', '.join(sorted(known))}"

    def read(value: Any) -> StrEnum:
        return known[value] if isinstance(value, str) and value in known else _refuse(wanted)

    return Form(wanted, {value: f'"{value}"' for value in known}.__getitem__, read)


def maybe(form: Form) -> Form:
    """Return the form of a value that may be absent: None here, `null` on the wire."""
    wanted, write, read = form
    return Form(
        f"null or {wanted}",
        lambda value: "null" if value is None else write(value),
        lambda value: None if value is None else read(value),
    )


def many(form: Form) -> Form:
    """Return the form of an ordered list: a tuple here, an array on the wire."""
    write_one = form.write

    def write(values: Any) -> str:
        try:
            return f"[{','.join([write_one(value) for value in values])}]"
        except (FormError, KeyError, TypeError):
            _blame((place, form, value) for place, value in enumerate(values))
            raise

    def read(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, list):
            _refuse("an array")
        return tuple(_read(form, value, place) for place, value in enumerate(values))

    return Form("an array", write, read)


def named(form: Form) -> Form:
    """Return the form of values by name, in RFC 8785 §3.2.3's order: by UTF-16 code unit."""
    write_one = form.write

    def write(values: Any) -> str:
        if not isinstance(values, Mapping):
            _refuse("an object")
        names = sorted(values) if all(map(str.isascii, values)) else sorted(values, key=_utf16)
        try:
            return f"{{{','.join([f'{encode_basestring(name)}:{write_one(values[name])}' for name in names])}}}"
        except (FormError, KeyError, TypeError):
            _blame((name, form, values[name]) for name in names)
            raise

    def read(values: Any) -> dict[str, Any]:
        if not isinstance(values, dict):
            _refuse("an object")
        return {name: _read(form, value, name) for name, value in values.items()}

    return Form("an object", write, read)


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def record(kind: type, **members: Form) -> Form:
    """Return the form of a frozen dataclass; `members` holds a form for each of its fields."""
    names = {field.name for field in fields(kind)}
    if names != set(members):
        message = f"{kind.__name__} and its table disagree: {sorted(names ^ set(members))}"
        raise AssertionError(message)
    table = sorted((camel(name), name, members[name]) for name in names)
    wires = {wire for wire, _, _ in table}
    wanted = f"an object with exactly the members {', '.join(sorted(wires))}"
    # Written out once for each type, as `dataclass` does it: four times as fast as a loop over the table.
    spelling = ",".join(f'"{wire}":{{write_{name}(value.{name})}}' for wire, name, _ in table)
    writers = {f"write_{name}": form.write for _, name, form in table}
    write_fields: Callable[[Any], str] = eval(  # noqa: S307 - made of our own field names, nothing from outside
        f"lambda value: f'{{{{{spelling}}}}}'", writers
    )

    def write(value: Any) -> str:
        try:
            return write_fields(value)
        except (FormError, KeyError, TypeError, AttributeError):
            if not isinstance(value, kind):
                _refuse(f"a {kind.__name__}")
            _blame((wire, form, getattr(value, name)) for wire, name, form in table)
            raise

    def read(value: Any) -> Any:
        if not isinstance(value, dict) or value.keys() != wires:
            _refuse(wanted)
        return kind(**{name: _read(form, value[wire], wire) for wire, name, form in table})

    return Form(wanted, write, read)


def _read(form: Form, value: Any, step: str | int) -> Any:
    try:
        return form.read(value)
    except FormError as error:
        raise error.under(step) from None


def _blame(parts: Iterable[tuple[str | int, Form, Any]]) -> None:
    for step, form, value in parts:
        try:
            written(form, value)
        except FormError as error:
            raise error.under(step) from None


def camel(name: str) -> str:
    """Return the wire name of a field name."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _read_text(value: Any) -> Any:
    return value if isinstance(value, str) else _refuse("a string")


_DIGEST_WANTED: Final = "64 lower-case hexadecimal digits"
_WHOLE_WANTED: Final = "an integer from 0 to 2^53 - 1"
_FLAG_WANTED: Final = "true or false"
_RULE_WANTED: Final = "checks or person"
_FIGURE_WANTED: Final = "an integer or a decimal string, never a fraction or an exponent"


def _read_digest(value: Any) -> Any:
    return value if isinstance(value, str) and _DIGEST.fullmatch(value) else _refuse(_DIGEST_WANTED)


def _write_digest(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and _DIGEST.fullmatch(value) else _refuse(_DIGEST_WANTED)


def _read_whole(value: Any) -> Any:
    return value if type(value) is int and 0 <= value <= LARGEST else _refuse(_WHOLE_WANTED)


def _write_whole(value: Any) -> str:
    return str(value) if type(value) is int and 0 <= value <= LARGEST else _refuse(_WHOLE_WANTED)


def _read_flag(value: Any) -> Any:
    return value if isinstance(value, bool) else _refuse(_FLAG_WANTED)


def _write_flag(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else _refuse(_FLAG_WANTED)


def _read_rule(value: Any) -> Any:
    return value if isinstance(value, str) and value in _RULES else _refuse(_RULE_WANTED)


def _write_figure(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return str(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, Mapping):
        return FIGURES.write(value)
    return _FIGURE_LIST.write(value) if isinstance(value, list | tuple) else _refuse(_FIGURE_WANTED)


def _read_figure(value: Any) -> Any:
    if isinstance(value, dict):
        return FIGURES.read(value)
    if isinstance(value, list):
        return list(_FIGURE_LIST.read(value))
    exact = value is None or isinstance(value, str | bool) or (type(value) is int and abs(value) <= LARGEST)
    return value if exact else _refuse(_FIGURE_WANTED)


_CONSTANTS: Final[dict[bool | None, str]] = {None: "null", True: "true", False: "false"}
_RULES: Final = {rule: f'"{rule}"' for rule in get_args(AcceptanceRule)}
_FIGURE: Final = Form(_FIGURE_WANTED, _write_figure, _read_figure)
_FIGURE_LIST: Final = many(_FIGURE)
FIGURES: Final = named(_FIGURE)
TEXT: Final = Form("a string", encode_basestring, _read_text)
DIGEST: Final = Form(_DIGEST_WANTED, _write_digest, _read_digest)
WHOLE: Final = Form(_WHOLE_WANTED, _write_whole, _read_whole)
FLAG: Final = Form(_FLAG_WANTED, _write_flag, _read_flag)
RULE: Final = Form(_RULE_WANTED, _RULES.__getitem__, _read_rule)
ENGINE: Final = record(Engine, label=TEXT, digest=TEXT)

PREDICATE: Final = record(
    said.ReceiptFacts,
    task_id=TEXT,
    idempotency_key=TEXT,
    parent_task=maybe(TEXT),
    supersedes=maybe(TEXT),
    attempt=WHOLE,
    epoch=maybe(WHOLE),
    authorization_ref=TEXT,
    grants=many(record(said.GrantFact, id=TEXT, issuer=TEXT, holder=TEXT, digest=DIGEST)),
    effect=TEXT,
    effect_class=word(EffectClass),
    plan_digest=DIGEST,
    input_refs=many(record(InputRef, name=TEXT, version=TEXT, digest=DIGEST)),
    resources=many(
        record(
            said.ResourceFact,
            name=TEXT,
            expected_revision=maybe(TEXT),
            revision_before=maybe(TEXT),
            revision_after=maybe(TEXT),
        )
    ),
    runtime_identity=maybe(record(RuntimeIdentity, name=TEXT, version=TEXT, digest=TEXT, mode=TEXT, capabilities=TEXT)),
    deadline=maybe(WHOLE),
    budget=named(WHOLE),
    uses=named(WHOLE),
    verdicts=many(
        record(
            Verdict,
            check=TEXT,
            status=word(Status),
            required=FLAG,
            maker=ENGINE,
            observer=ENGINE,
            subjects=many(TEXT),
            measured=FIGURES,
            threshold=FIGURES,
            reason=TEXT,
            source=TEXT,
        )
    ),
    not_checked=many(record(said.Gap, what=TEXT, why=TEXT)),
    acceptance=maybe(record(said.Acceptance, by=TEXT, how=RULE, evidence=DIGEST, authenticated=FLAG)),
    state=word(TERMINAL),
    code=TEXT,
    executed=word(Executed),
    times=record(said.Times, created=WHOLE, started=maybe(WHOLE), finished=WHOLE),
    ledger=record(said.LedgerPlace, workspace=TEXT, chain_head=DIGEST, seq=WHOLE, entered_late=FLAG),
    signer=record(said.Signatory, keyid=DIGEST, public_key=TEXT),
)
