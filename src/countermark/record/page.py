"""The one record page of all domains: asked, allowed by, changed, checked by whom, not checked.

The page is one file. No request leaves it: pictures are data URIs, there is no script, and a content security policy
in the page forbids the rest. The same record gives the same bytes.
"""

from __future__ import annotations

import base64
import functools
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import jinja2

from countermark.kernel.errors import CountermarkError
from countermark.record.visible import segments, visible

Status = Literal["passed", "failed", "skipped", "unavailable"]
Change = Literal["changed", "unchanged, byte-equal", "new"]

STATUSES: Final[tuple[Status, ...]] = ("failed", "unavailable", "skipped", "passed")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
# A picture this small is judged pixel by pixel, so it is shown enlarged beside its true size.
_SMALL: Final = 48
_ENLARGED: Final = 96
_NAMED: Final = 3
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fact:
    """One labelled line of text."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict: what was looked at, who made it, who looked, what was measured and where the bar was."""

    check: str
    subject: str
    status: Status
    maker: str
    observer: str
    measured: str
    threshold: str


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something nobody looked at, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One artboard: size in pixels, PNG bytes before and after, and the file that carries the bytes after."""

    name: str
    width: int
    height: int
    before: bytes | None
    after: bytes
    status: Change
    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Something a check saw, in pictures: what it is, the figure, and PNGs with who drew each."""

    title: str
    text: str
    pictures: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that took part; its identity is the digest of its installed files."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Which task this was; `at_ms` is in milliseconds since the Unix epoch, shown in UTC."""

    task: str
    key: str
    revision_before: str
    revision_after: str
    engines: tuple[Engine, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class Record:
    """Everything one record page says."""

    title: str
    asked: tuple[Fact, ...]
    allowed_by: tuple[Fact, ...]
    changed: tuple[Fact, ...]
    checked: tuple[Check, ...]
    not_checked: tuple[Unchecked, ...]
    identity: Identity
    pictures: tuple[Picture, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    figures: tuple[Fact, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class _Board:
    """A picture as the template needs it."""

    picture: Picture
    before: str | None
    after: str
    zoom: int


def render(record: Record) -> bytes:
    """Return the page as UTF-8 bytes.

    Raises `artifact_invalid` for a picture that is not a PNG or says `unchanged` of two that differ, and
    `input_invalid` for a time that no calendar holds.
    """
    boards = [_board(picture) for picture in record.pictures]
    tally = Counter(check.status for check in record.checked)
    text = _template().render(
        record=record,
        large=[board for board in boards if board.zoom == 1],
        small=[board for board in boards if board.zoom > 1],
        tally=[(status, tally[status]) for status in STATUSES if tally[status]],
        headline=_headline(record),
        checked=sorted(record.checked, key=lambda check: STATUSES.index(check.status)),
        observers=_observers(record),
        data_uri=_data_uri,
        at=_utc(record.identity.at_ms),
        segments=segments,
    )
    return text.encode()


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        finalize=_finalize,
        keep_trailing_newline=True,
        loader=jinja2.PackageLoader("countermark.record", "."),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("page.html.jinja")


def _finalize(value: Any) -> Any:
    """Every string on its way into the page passes here; what the template itself marked safe is another type."""
    return visible(value) if type(value) is str else value


def _board(picture: Picture) -> _Board:
    for data in (picture.before, picture.after):
        if data is not None and not data.startswith(_PNG):
            raise CountermarkError(
                "artifact_invalid",
                f"The picture of {picture.name!r} is not a PNG.",
                next_action="Export it as PNG before it goes on the record.",
            )
    if picture.status == "unchanged, byte-equal" and picture.before != picture.after:
        raise CountermarkError(
            "artifact_invalid",
            f"The picture of {picture.name!r} is called unchanged and its bytes differ.",
            next_action="Report this: the record and the files disagree.",
        )
    longest = max(picture.width, picture.height, 1)
    return _Board(
        picture,
        None if picture.before is None or picture.status == "unchanged, byte-equal" else _data_uri(picture.before),
        _data_uri(picture.after),
        max(2, _ENLARGED // longest) if longest <= _SMALL else 1,
    )


def _data_uri(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def _headline(record: Record) -> str:
    """Say the worst thing first, and never call the whole good."""
    total = len(record.checked)
    counts = Counter(check.status for check in record.checked)
    if not total:
        return "Nothing was checked."
    if counts["failed"]:
        failed = [
            f"{one.check} ({one.subject})" if one.subject else one.check
            for one in record.checked
            if one.status == "failed"
        ]
        more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        return f"{_count(counts['failed'], 'check')} of {total} failed: {'; '.join(failed[:_NAMED])}{more}."
    if counts["passed"] == total:
        return f"{_count(total, 'check')} passed."
    rest = ", ".join(f"{counts[status]} {status}" for status in ("unavailable", "skipped") if counts[status])
    return f"{counts['passed']} of {_count(total, 'check')} passed, {rest}."


def _observers(record: Record) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Count the verdicts by whose eyes on whose work, in the order they first appear."""
    pairs: dict[tuple[str, str], Counter[str]] = {}
    for check in record.checked:
        pairs.setdefault((check.observer, check.maker), Counter())[check.status] += 1
    return [
        (observer, maker, [(status, counts[status]) for status in STATUSES if counts[status]])
        for (observer, maker), counts in pairs.items()
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _utc(milliseconds: int) -> str:
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise CountermarkError(
            "input_invalid",
            f"{milliseconds} ms since 1970 is outside the calendar.",
            next_action="Give the time in milliseconds, not in nanoseconds.",
        ) from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
