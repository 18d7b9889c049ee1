"""The bytes of a native file: optional gzip, strict JSON, and large images after the JSON.

Nothing here knows what a node is. Every fault raises `artifact_invalid` with its place.
"""

from __future__ import annotations

import gc
import json
import zlib
from typing import Any, Final

import orjson

from countermark.kernel.errors import CountermarkError

Json = dict[str, Any]

UNPACKED_MAX: Final = 512 * 1024 * 1024
# orjson writes at most 254 levels; what it cannot write again is not read either.
DEPTH_MAX: Final = 254

_BLOBS: Final = b"\n\0VCBLOBS\0"
_GZIP: Final = b"\x1f\x8b"


def invalid(sentence: str) -> CountermarkError:
    """Return the error for a native file that is cut, damaged or of the wrong shape."""
    return CountermarkError(
        "artifact_invalid", sentence, next_action="Restore the file from a copy, or import the drawing again."
    )


def read(data: bytes, what: str) -> tuple[Json, bytes]:
    """Return the JSON object and the bytes after it; more than 512 MiB unpacked raises `input_too_large`."""
    body, blobs = _split(_unpack(data, what), what)
    collecting = gc.isenabled()
    gc.disable()  # millions of small containers appear at once and none is garbage: 4 to 11 times faster without
    try:
        return _parse(body, what), blobs
    finally:
        if collecting:
            gc.enable()


def write(file: Json, blobs: bytes, *, indent: bool) -> bytes:
    """Return the bytes of a JSON object and its blobs; the same value gives the same bytes."""
    try:
        body = orjson.dumps(file, option=orjson.OPT_INDENT_2 if indent else 0)
    except orjson.JSONEncodeError as error:
        message = f"The document cannot be written: {error}."
        raise invalid(message) from error
    return body + _BLOBS + blobs if blobs else body


def _unpack(data: bytes, what: str) -> bytes:
    if data.startswith(_GZIP):
        engine = zlib.decompressobj(wbits=31)
        try:
            data = engine.decompress(data, UNPACKED_MAX + 1)
        except zlib.error as error:
            message = f"{what} is compressed and damaged: {error}."
            raise invalid(message) from error
        if not engine.eof and len(data) <= UNPACKED_MAX:
            message = f"{what} is compressed and cut: it ends after {len(data)} unpacked bytes."
            raise invalid(message)
    if len(data) > UNPACKED_MAX:
        raise CountermarkError(
            "input_too_large",
            f"{what} is larger than 512 MiB unpacked.",
            next_action="Split the drawing into several documents.",
        )
    return data


def _split(data: bytes, what: str) -> tuple[bytes, bytes]:
    at = data.find(_BLOBS)
    if at >= 0:
        return data[:at], data[at + len(_BLOBS) :]
    if b"\0" in data[-len(_BLOBS) :]:
        message = f"{what} is cut inside the marker before its images, at byte {len(data)}."
        raise invalid(message)
    return data, b""


def _parse(body: bytes, what: str) -> Json:
    try:
        value = orjson.loads(body)
        again = orjson.dumps(value)
    except orjson.JSONDecodeError as error:
        message = f"{what} is not valid JSON: {error.msg}, line {error.lineno} column {error.colno}."
        raise invalid(message) from error
    except orjson.JSONEncodeError as error:
        message = f"{what} is nested deeper than {DEPTH_MAX} levels."
        raise invalid(message) from error
    if _quotes(again) != _quotes(body):
        message = f"{what} has the member {_duplicate(body)} twice in one object."
        raise invalid(message)
    if not isinstance(value, dict):
        message = f"{what} is not a native document: its JSON is not an object."
        raise invalid(message)
    return value


def _quotes(text: bytes) -> int:
    """Count the quotes that delimit strings.

    A reader keeps one of two members of the same name, so the other takes two quotes with it: comparing the text with
    what was read finds a duplicate forty times faster than hooking every object.
    """
    plain = text.replace(b"\\\\", b"")
    return plain.count(b'"') - plain.count(b'\\"')


def _duplicate(body: bytes) -> str:
    """Name the first member that stands twice: the slow reading, only for a file already known to be faulty."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> Json:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice.append(next(name for name in names if names.count(name) > 1))
        return found

    json.loads(body, object_pairs_hook=note)
    return repr(twice[0])
