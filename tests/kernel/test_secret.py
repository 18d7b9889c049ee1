"""Secrets: only references are shown or kept, wherever a value might slip out."""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.child import ProcessRunner
from countermark.kernel.errors import CountermarkError
from countermark.kernel.secret import FILE_LIMIT, Redactor, Secret, resolve

CANARY: Final = 'cänary/"+tok\\en=7f3a'


def refusal(code: str, ref: str) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        resolve(ref, environ={"EMPTY": ""})
    assert caught.value.code == code
    return caught.value


def file_ref(folder: Path, data: bytes = b"value\n", mode: int = 0o600) -> str:
    path = folder / "token"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return f"file:{path}"


# References


def test_a_secret_comes_from_the_environment_by_name() -> None:
    assert resolve("env:TOKEN", environ={"TOKEN": CANARY}).reveal() == CANARY


def test_a_secret_comes_from_its_owners_file_without_the_last_line_end(tmp_path: Path) -> None:
    assert resolve(file_ref(tmp_path)).reveal() == "value"
    assert resolve(file_ref(tmp_path, b"a b\r\n", 0o400)).reveal() == "a b"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_secret_that_others_can_reach_is_refused(mode: int, tmp_path: Path) -> None:
    ref = file_ref(tmp_path, mode=mode)
    assert f"chmod 600 {tmp_path / 'token'}" in refusal("permission_denied", ref).next_action


def test_only_a_regular_file_of_text_holds_a_secret(tmp_path: Path) -> None:
    file_ref(tmp_path)
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "link").symlink_to(tmp_path / "token")
    refusal("not_a_regular_file", f"file:{tmp_path}")
    refusal("not_a_regular_file", f"file:{tmp_path / 'fifo'}")
    refusal("secret_missing", f"file:{tmp_path / 'link'}")
    refusal("secret_missing", f"file:{tmp_path / 'absent'}")
    refusal("secret_missing", file_ref(tmp_path, b""))
    refusal("input_invalid", file_ref(tmp_path, b"value\xff"))
    refusal("input_too_large", file_ref(tmp_path, b"x" * (FILE_LIMIT + 1)))


def test_a_missing_variable_is_named() -> None:
    assert "env:ABSENT" in refusal("secret_missing", "env:ABSENT").sentence
    refusal("secret_missing", "env:EMPTY")


@pytest.mark.parametrize("ref", [CANARY, f"env:{CANARY}", f"file:{CANARY}", f"keyring:{CANARY[:5]}", f"other:{CANARY}"])
def test_what_is_no_reference_is_not_repeated_because_it_may_be_the_secret(ref: str) -> None:
    error = refusal("input_invalid", ref)
    assert CANARY[:5] not in json.dumps(error.as_json(), ensure_ascii=False)


class KeyringError(Exception):
    pass


def keyring_with(answer: Callable[[str, str], str | None]) -> types.ModuleType:
    """A stand-in for the optional package, which talks to a desktop that a test does not have."""
    module = types.ModuleType("keyring")
    module.__dict__.update(get_password=answer, errors=types.SimpleNamespace(KeyringError=KeyringError))
    return module


def test_a_keyring_is_asked_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    refusal("part_unavailable", "keyring:forge/me")

    def answer(service: str, user: str) -> str | None:
        if service == "locked":
            raise KeyringError
        return CANARY if (service, user) == ("forge", "me/too") else None

    monkeypatch.setitem(sys.modules, "keyring", keyring_with(answer))
    assert resolve("keyring:forge/me/too").reveal() == CANARY
    refusal("secret_missing", "keyring:forge/you")
    refusal("part_unavailable", "keyring:locked/me")


# The canary


def test_a_secret_shows_its_reference_only() -> None:
    secret = Secret("env:TOKEN", CANARY)
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        repr([secret]),
        repr({1: secret}),
    ]
    assert all("env:TOKEN" in text and "nary" not in text for text in shown)


@pytest.mark.parametrize(
    "leave", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps], ids=["pickle", "copy", "deepcopy", "json"]
)
def test_a_secret_is_not_copied_out(leave: Callable[[object], object]) -> None:
    with pytest.raises(TypeError) as caught:
        leave(Secret("env:TOKEN", CANARY))
    assert "nary" not in str(caught.value)


def test_a_traceback_with_all_its_variables_shows_no_secret() -> None:
    secret = resolve("env:TOKEN", environ={"TOKEN": CANARY})
    redactor = Redactor([secret])

    def fails(token: Secret) -> None:
        raise CountermarkError("child_failed", f"{token} did not help {redactor}.", next_action="None.")

    try:
        fails(secret)
    except CountermarkError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "redactor" in shown
    assert "nary" not in shown


@pytest.mark.promise("kernel.secret.never-shown")
def test_a_canary_that_a_child_repeats_everywhere_is_removed(tmp_path: Path) -> None:
    (tmp_path / "live").touch()
    secret = resolve("env:TOKEN", environ={"TOKEN": CANARY})
    redactor = Redactor([secret])
    repeats = (
        "import base64, json, os, sys, urllib.parse as u; t = os.environ['TOKEN']; b = t.encode()\n"
        "print(t, json.dumps({t: [t]}), u.quote(t), u.urlencode({'t': t}), sep='\\n')\n"
        "print(*(base64.b64encode(b'user:'[i:] + b + b'tail') for i in range(5)), sep='\\n')\n"
        "print(base64.urlsafe_b64encode(b))\n"
        "sys.stderr.write('Traceback: bad token ' + t); sys.exit(t)"
    )
    with ProcessRunner().start(
        [sys.executable, "-c", repeats], liveness=tmp_path / "live", env={"TOKEN": secret.reveal(), "PYTHONUTF8": "1"}
    ) as one:
        one.go()
        one.wait(time.monotonic() + 60)
        said = one.output.decode() + one.stderr.decode()
    traces = [CANARY, quote(CANARY), json.dumps(CANARY)[1:-1], base64.b64encode(CANARY.encode()).decode()[:12]]
    assert all(trace in said for trace in traces), "the child repeats it in every form"
    clean = redactor.text(said)
    assert clean.count("[redacted env:TOKEN]") == 13
    assert not any(trace in clean for trace in traces)
    assert not any("nary" in piece for piece in (clean, json.dumps(redactor.value({"log": said}))))


# Redaction


def test_structured_fields_are_cleaned_to_the_bottom() -> None:
    redactor = Redactor([Secret("env:PIN", "4711"), Secret("env:TOKEN", CANARY)])
    fields = {"a": [CANARY, {"b": f"x{CANARY}y"}], CANARY: 1, "n": 4711, "m": 12, "none": None, "yes": True}
    assert redactor.value(fields) == {
        "a": ["[redacted env:TOKEN]", {"b": "x[redacted env:TOKEN]y"}],
        "[redacted env:TOKEN]": 1,
        "n": "[redacted env:PIN]",
        "m": 12,
        "none": None,
        "yes": True,
    }


def test_a_value_inside_another_is_removed_with_it() -> None:
    redactor = Redactor([Secret("env:SHORT", "abc"), Secret("env:LONG", "xxabcxx")])
    assert redactor.text("xxabcxx abc") == "[redacted env:LONG] [redacted env:SHORT]"


def test_without_secrets_nothing_changes() -> None:
    assert Redactor([]).text("anything") == "anything"


@given(st.text(min_size=8, max_size=40), st.binary(max_size=7), st.binary(max_size=7))
def test_no_alignment_of_base64_hides_a_value(value: str, before: bytes, after: bytes) -> None:
    redactor = Redactor([Secret("env:TOKEN", value)])
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        clean = redactor.text(encode(before + value.encode() + after).decode())
        assert "[redacted env:TOKEN]" in clean
        left = clean.replace("[redacted env:TOKEN]", "")
        # What may stay is what the neighbours say: at most their own characters and one shared on each side.
        assert len(left.rstrip("=")) <= (len(before) + len(after)) * 4 / 3 + 3


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_no_text_around_a_value_hides_it(value: str, before: str, after: str) -> None:
    clean = Redactor([Secret("r", value)]).text(before + value + after)
    assert value not in clean.replace("[redacted r]", "\0" if value != "\0" else "\1")
