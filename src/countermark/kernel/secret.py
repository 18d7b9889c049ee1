"""Secrets by reference, and the removal of their values from everything that is shown or kept (seed 1 §12).

A reference is `env:NAME`, `file:/absolute/path` (a regular file that only its owner can read) or
`keyring:SERVICE/USER`. References are stored and shown; values are held only as long as they are used.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn, SupportsIndex
from urllib.parse import quote, quote_plus

from countermark.kernel.errors import CountermarkError

FILE_LIMIT: Final = 64 * 1024
_SHORTEST_BASE64: Final = 6
_FORMS: Final = "Use env:NAME, file:/absolute/path or keyring:SERVICE/USER."


class Secret:
    """A value that shows only its reference, whatever prints, formats or pickles it."""

    __slots__ = ("_value", "ref")

    def __init__(self, ref: str, value: str) -> None:
        """Hold a value under the reference that named it."""
        self.ref: Final = ref
        self._value: Final = value

    def reveal(self) -> str:
        """Return the value: the one place where it leaves, easy to find in a review."""
        return self._value

    def __repr__(self) -> str:
        """Show the reference only."""
        return f"Secret({self.ref})"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled."""
        del protocol
        message = "a secret is passed on by its reference"
        raise TypeError(message)


def resolve(ref: str, *, environ: Mapping[str, str] | None = None) -> Secret:
    """Return the secret a reference names.

    Raises `input_invalid` for anything that is no reference (its text is not repeated: it may be a secret typed in the
    wrong place), `secret_missing`, `permission_denied` (a file that others can read), `not_a_regular_file`,
    `part_unavailable` (no keyring here).
    """
    kind, _, name = ref.partition(":")
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        value = (os.environ if environ is None else environ).get(name)
    elif kind == "file" and name.startswith("/") and "\0" not in name:
        value = _from_file(ref, Path(name))
    elif kind == "keyring" and all(name.partition("/")):
        value = _from_keyring(*name.split("/", 1))
    else:
        raise CountermarkError("input_invalid", "A secret is given by reference only.", next_action=_FORMS)
    if not value:
        raise _missing(ref, "it is empty or not set")
    return Secret(ref, value)


def _from_file(ref: str, path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise _missing(ref, f"the file cannot be opened ({error.strerror})") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise CountermarkError(
                "not_a_regular_file", f"{ref} is not a regular file.", next_action="Name a regular file, not a link."
            )
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise CountermarkError(
                "permission_denied",
                f"{ref} can be read by others, or belongs to somebody else.",
                next_action=f"Run: chmod 600 {path}",
            )
        data = b""
        while len(data) <= FILE_LIMIT and (chunk := os.read(descriptor, FILE_LIMIT + 1)):
            data += chunk
    finally:
        os.close(descriptor)
    if len(data) > FILE_LIMIT:
        raise CountermarkError(
            "input_too_large", f"{ref} is larger than {FILE_LIMIT} bytes.", next_action="Name the file of the secret."
        )
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        # Not chained: the decoder's error holds the bytes.
        raise CountermarkError("input_invalid", f"{ref} is not text.", next_action="Store it as UTF-8.") from None


def _from_keyring(service: str, user: str) -> str | None:
    try:
        keyring = importlib.import_module("keyring")
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            "The keyring cannot be asked: the package keyring is not installed.",
            next_action="Install keyring, or use env: or file:.",
        ) from error
    try:
        value: object = keyring.get_password(service, user)
    except keyring.errors.KeyringError as error:
        raise CountermarkError(
            "part_unavailable",
            f"The keyring gave no answer ({type(error).__name__}).",
            next_action="Unlock the keyring, or use env: or file:.",
        ) from error
    return value if isinstance(value, str) else None


def _missing(ref: str, why: str) -> CountermarkError:
    return CountermarkError(
        "secret_missing", f"The secret {ref} is not available: {why}.", next_action="Set it, then run this again."
    )


class Redactor:
    """Removes the values of secrets, and the forms in which they usually travel, from text and JSON values.

    Forms: as it is, escaped as JSON, percent-encoded, and base64 at every alignment, alone or inside a longer text
    (as in a basic authorisation header). Other encodings, and pieces of a value, are not recognised.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        """Prepare for these secrets."""
        self._refs = {form: secret.ref for secret in secrets for form in _forms(secret.reveal())}
        longest_first = sorted(self._refs, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __repr__(self) -> str:
        """Show nothing of what it knows."""
        return f"Redactor({len(set(self._refs.values()))} secrets)"

    def text(self, text: str) -> str:
        """Return the text with every value replaced by `[redacted <reference>]`."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: f"[redacted {self._refs[found[0]]}]", text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with every value removed from its strings, its member names and its numbers."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        if isinstance(value, int | float) and self.text(str(value)) != str(value):
            return self.text(str(value))
        return value


def _forms(value: str) -> set[str]:
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {quote(value, safe=""), quote(value), quote_plus(value)}
    data = value.encode("utf-8", "surrogateescape")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = {encode(data).decode().rstrip("=")}
        for before in range(3):
            text = encode(bytes(before) + data).decode()
            # Only the characters that hold no bit of a neighbour: the same in whatever stands around the value.
            encoded.add(text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
        # A shorter piece stands in any text by chance.
        forms |= {form for form in encoded if len(form) >= _SHORTEST_BASE64}
    return forms
