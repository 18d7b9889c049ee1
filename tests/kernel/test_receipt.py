from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope

from countermark.kernel.canon import canonical
from countermark.kernel.errors import CountermarkError
from countermark.kernel.facts import ReceiptFacts, Signatory, decimal_text
from countermark.kernel.proof import Status
from countermark.kernel.receipt import (
    MAX_BYTES,
    PAYLOAD_TYPE,
    Subject,
    envelope_bytes,
    is_plain,
    pae,
    parse,
    receipt_bytes,
    statement_bytes,
)
from countermark.kernel.state import State
from tests.kernel.receipt_sample import ANY_FACTS, KEY, STRANGER, VERDICT, digest, facts

SUBJECTS = (Subject("b.png", digest("b")), Subject("a.png", digest("a")), Subject("boards/ä.svg", digest("c")))
RECEIPT = receipt_bytes(facts(), SUBJECTS, KEY)
STATEMENT = statement_bytes(facts(), SUBJECTS)


def refusal(call: Callable[[], object]) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        call()
    assert caught.value.code == "receipt_invalid"
    return caught.value


def signed(statement: Any) -> bytes:
    """Sign a statement with our own key: what is refused then is refused for its content, not for its signature."""
    return envelope_bytes(statement if isinstance(statement, bytes) else canonical(statement), KEY)


@given(ANY_FACTS)
def test_a_statement_is_rfc_8785_and_reads_back_as_the_same_facts(said: ReceiptFacts) -> None:
    payload = statement_bytes(said, SUBJECTS)
    assert payload == rfc8785.dumps(json.loads(payload))
    assert parse(receipt_bytes(said, SUBJECTS, KEY)).facts == said


def test_names_are_in_the_order_of_their_utf_16_code_units() -> None:
    payload = statement_bytes(facts(uses={"\U0001f600": 1, "\ufb33": 2, "a": 3}), ())
    assert payload == rfc8785.dumps(json.loads(payload))
    assert '{"a":3,"\U0001f600":1,"\ufb33":2}'.encode() in payload


def test_an_envelope_is_rfc_8785_and_a_newline() -> None:
    assert rfc8785.dumps(json.loads(RECEIPT)) + b"\n" == RECEIPT


def test_the_same_facts_give_the_same_bytes_in_any_order_of_subjects() -> None:
    assert receipt_bytes(facts(), reversed(SUBJECTS), KEY) == RECEIPT
    assert [subject.name for subject in parse(RECEIPT).subjects] == ["a.png", "b.png", "boards/ä.svg"]


@given(st.binary(max_size=300))
def test_our_signature_covers_what_a_stock_dsse_verifier_computes(payload: bytes) -> None:
    assert pae(payload) == Envelope(payload, PAYLOAD_TYPE, {}).pae()


def test_the_statement_is_in_toto_v1() -> None:
    statement = json.loads(STATEMENT)
    assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:countermark:receipt:v1"
    assert statement["subject"][0] == {"name": "a.png", "digest": {"sha256": digest("a")}}
    assert json.loads(RECEIPT)["payloadType"] == "application/vnd.in-toto+json"


def test_a_receipt_carries_the_names_of_the_request_to_the_letter() -> None:
    predicate = json.loads(STATEMENT)["predicate"]
    wanted = {"idempotencyKey", "authorizationRef", "inputRefs", "runtimeIdentity", "deadline", "budget"}
    assert wanted <= set(predicate)
    assert predicate["resources"][0]["expectedRevision"] == "absent"
    assert set(predicate["inputRefs"][0]) == {"name", "version", "digest"}
    assert set(predicate["runtimeIdentity"]) >= {"version", "digest", "mode", "capabilities"}


def test_a_member_with_nothing_to_say_is_there_all_the_same() -> None:
    bare = facts(runtime_identity=None, deadline=None, acceptance=None, epoch=None, verdicts=(), state=State.FAILED)
    assert set(json.loads(statement_bytes(bare, ()))["predicate"]) == set(json.loads(STATEMENT)["predicate"])


def test_a_task_without_artefacts_has_a_receipt_too() -> None:
    assert parse(receipt_bytes(facts(), (), KEY)).subjects == ()


def spelled(change: Callable[[dict[str, Any]], object]) -> bytes:
    envelope = json.loads(RECEIPT)
    change(envelope)
    return rfc8785.dumps(envelope) + b"\n"


OTHER_SPELLINGS = {
    "no newline": RECEIPT[:-1],
    "two newlines": RECEIPT + b"\n",
    "CRLF": RECEIPT[:-1] + b"\r\n",
    "trailing bytes": RECEIPT + b"{}",
    "leading space": b" " + RECEIPT,
    "byte order mark": b"\xef\xbb\xbf" + RECEIPT,
    "UTF-16": RECEIPT.decode().encode("utf-16"),
    "spaces": json.dumps(json.loads(RECEIPT)).encode() + b"\n",
    "another order": json.dumps(dict(reversed(json.loads(RECEIPT).items())), separators=(",", ":")).encode() + b"\n",
    "a member twice": RECEIPT.replace(b'{"payload":', b'{"payload":"","payload":', 1),
    "an extra member": spelled(lambda e: e.update(extra=1)),
    "a missing member": spelled(lambda e: e.pop("payloadType")),
    "an escaped letter": RECEIPT.replace(b'"payloadType"', b'"\\u0070ayloadType"', 1),
    "an escaped slash": RECEIPT.replace(b"application/vnd", b"application\\/vnd", 1),
    "another payload type": spelled(lambda e: e.update(payloadType="application/json")),
    "no signature": spelled(lambda e: e.update(signatures=[])),
    "two signatures": spelled(lambda e: e["signatures"].append(e["signatures"][0])),
    "an extra member in the signature": spelled(lambda e: e["signatures"][0].update(cert="")),
    "a short signature": spelled(lambda e: e["signatures"][0].update(sig="AAAA")),
    "a signature that is no text": spelled(lambda e: e["signatures"][0].update(sig=None)),
    "url-safe base64": spelled(lambda e: e.update(payload=base64.urlsafe_b64encode(STATEMENT + b"\xff\xff").decode())),
    "base64 without padding": spelled(lambda e: e["signatures"][0].update(sig=e["signatures"][0]["sig"].rstrip("="))),
    "base64 with a line break": spelled(lambda e: e.update(payload=e["payload"][:76] + "\n" + e["payload"][76:])),
    "base64 with stray bits": spelled(lambda e: e["signatures"][0].update(sig=e["signatures"][0]["sig"][:-3] + "B==")),
    "another key id": spelled(lambda e: e["signatures"][0].update(keyid=digest("no key"))),
    "a key id in capitals": spelled(lambda e: e["signatures"][0].update(keyid=KEY.keyid.upper())),
    "not JSON": b"receipt\n",
    "a number": b"1\n",
    "an array": b"[]\n",
    "nothing": b"",
    "NaN": RECEIPT.replace(b'"payload":', b'"payload":NaN,"p":', 1),
    "deep nesting": b"[" * 100_000,
    "too large": b" " * (MAX_BYTES + 1),
}


@pytest.mark.promise("kernel.receipt.one-spelling")
@pytest.mark.parametrize("spelling", OTHER_SPELLINGS)
def test_any_other_spelling_of_a_receipt_is_refused(spelling: str) -> None:
    assert OTHER_SPELLINGS[spelling] != RECEIPT
    refusal(lambda: parse(OTHER_SPELLINGS[spelling]))


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    statement: dict[str, Any] = json.loads(STATEMENT)
    change(statement)
    return statement


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        (changed(lambda s: s.update(extra=1)), "/payload"),
        (changed(lambda s: s.pop("subject")), "/payload"),
        (changed(lambda s: s.update(_type="https://in-toto.io/Statement/v0.1")), "/payload/_type"),
        (changed(lambda s: s.update(predicateType="urn:countermark:receipt:v2")), "/payload/predicateType"),
        (changed(lambda s: s.update(subject={})), "/payload/subject"),
        (changed(lambda s: s["subject"].reverse()), "/payload"),
        (changed(lambda s: s["subject"][0].update(name=3)), "/payload/subject/0/name"),
        (changed(lambda s: s["subject"][0]["digest"].update(sha1="0")), "/payload/subject/0/digest"),
        (changed(lambda s: s["subject"][0]["digest"].update(sha256="0")), "/payload/subject/0/digest/sha256"),
        (changed(lambda s: s["predicate"].update(extra=1)), "/payload/predicate"),
        (changed(lambda s: s["predicate"].pop("deadline")), "/payload/predicate"),
        (changed(lambda s: s["predicate"].update(state="running")), "/payload/predicate/state"),
        (changed(lambda s: s["predicate"].update(executed=True)), "/payload/predicate/executed"),
        (changed(lambda s: s["predicate"].update(epoch=-1)), "/payload/predicate/epoch"),
        (changed(lambda s: s["predicate"].update(epoch=1.5)), "/payload/predicate/epoch"),
        (changed(lambda s: s["predicate"].update(epoch=True)), "/payload/predicate/epoch"),
        (changed(lambda s: s["predicate"].update(grants={})), "/payload/predicate/grants"),
        (changed(lambda s: s["predicate"].update(uses=[])), "/payload/predicate/uses"),
        (changed(lambda s: s["predicate"]["uses"].update(bytes="1")), "/payload/predicate/uses/bytes"),
        (changed(lambda s: s["predicate"]["acceptance"].update(how="model")), "/payload/predicate/acceptance/how"),
        (changed(lambda s: s["predicate"]["verdicts"][0].update(extra=1)), "/payload/predicate/verdicts/0"),
        (changed(lambda s: s["predicate"]["verdicts"][0].update(required=1)), "/payload/predicate/verdicts/0/required"),
        (
            changed(lambda s: s["predicate"]["verdicts"][0]["measured"].update(pixelsOff=0.5)),
            "/payload/predicate/verdicts/0/measured/pixelsOff",
        ),
        (changed(lambda s: s["predicate"]["signer"].update(publicKey="")), "/payload/predicate/signer/publicKey"),
        (
            changed(lambda s: s["predicate"]["signer"].update(publicKey=KEY.public_key + "\n")),
            "/payload/predicate/signer/publicKey",
        ),
        (
            changed(lambda s: s["predicate"]["signer"].update(publicKey=STRANGER.public_key)),
            "/payload/predicate/signer/keyid",
        ),
        (STATEMENT + b" ", "/payload"),
        (STATEMENT.replace(b'"attempt":1', b'"attempt":1.0'), "/payload/predicate/attempt"),
        (STATEMENT.replace(b'"attempt":1', b'"attempt":1e0'), "/payload/predicate/attempt"),
        (STATEMENT.replace(b'"epoch":3', b'"epoch":3,"epoch":3'), ""),
        (STATEMENT.replace("ä".encode(), b"\\u00e4"), "/payload"),
        (STATEMENT.replace("ä".encode(), b"\\ud800"), ""),
        (b"\xff" + STATEMENT, ""),
    ],
)
def test_a_signed_statement_with_another_content_or_spelling_is_refused_with_its_place(statement: Any, at: str) -> None:
    assert refusal(lambda: parse(signed(statement))).details == {"at": at}


@pytest.mark.promise("kernel.proof.unavailable-is-not-passed")
@pytest.mark.parametrize("status", [Status.FAILED, Status.SKIPPED, Status.UNAVAILABLE])
def test_no_receipt_says_completed_where_a_required_check_did_not_pass(status: Status) -> None:
    verdict = replace(VERDICT, status=status)
    refusal(lambda: statement_bytes(facts(verdicts=(verdict,)), ()))
    refusal(lambda: parse(signed(changed(lambda s: s["predicate"]["verdicts"][0].update(status=status.value)))))
    statement_bytes(facts(verdicts=(verdict,), state=State.FAILED, code="verification_failed"), ())
    statement_bytes(facts(verdicts=(replace(verdict, required=False),)), ())


def test_no_receipt_says_completed_where_a_maker_observed_its_own_work_under_another_label() -> None:
    verdict = replace(VERDICT, observer=replace(VERDICT.maker, label="another name"))
    error = refusal(lambda: statement_bytes(facts(verdicts=(verdict,)), ()))
    assert "same engine" in error.sentence


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ({"verdicts": (replace(VERDICT, measured={"off": 0.1}),)}, "/predicate/verdicts/0/measured/off"),
        ({"verdicts": (replace(VERDICT, measured={"off": [1, 2.0]}),)}, "/predicate/verdicts/0/measured/off/1"),
        ({"verdicts": (replace(VERDICT, threshold={"off": 2**53}),)}, "/predicate/verdicts/0/threshold/off"),
        ({"uses": {"bytes": 2**53}}, "/predicate/uses/bytes"),
        ({"uses": {"bytes": -1}}, "/predicate/uses/bytes"),
        ({"uses": {3: 1}}, "/predicate/uses"),
        ({"uses": ["bytes"]}, "/predicate/uses"),
        ({"plan_digest": digest("plan").upper()}, "/predicate/planDigest"),
        ({"task_id": None}, "/predicate/taskId"),
        ({"state": State.RUNNING}, "/predicate/state"),
        ({"effect_class": "harmless"}, "/predicate/effectClass"),
        ({"times": None}, "/predicate/times"),
        ({"grants": None}, "/predicate/grants"),
        ({"code": "\ud800"}, "/predicate"),
    ],
)
def test_what_has_no_wire_form_is_not_signed(said: dict[str, Any], at: str) -> None:
    assert refusal(lambda: receipt_bytes(facts(**said), (), KEY)).details == {"at": at}


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "./a", "a/.", "receipt.json", "a\0b"]
)
def test_a_subject_that_is_no_path_below_the_folder_is_refused(name: str) -> None:
    assert not is_plain(name)
    refusal(lambda: statement_bytes(facts(), [Subject(name, digest("a"))]))
    refusal(
        lambda: parse(signed(changed(lambda s: s.update(subject=[{"name": name, "digest": {"sha256": "0" * 64}}]))))
    )


def test_a_subject_named_twice_is_refused() -> None:
    refusal(lambda: statement_bytes(facts(), [Subject("a", digest("a")), Subject("a", digest("b"))]))


def test_a_key_does_not_sign_facts_that_name_another_one() -> None:
    refusal(lambda: receipt_bytes(facts(), (), STRANGER))
    refusal(lambda: receipt_bytes(facts(signer=Signatory(KEY.keyid, STRANGER.public_key)), (), KEY))


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
)
@example(-0.0)
@example(Decimal("-0.00"))
@example(1e300)
def test_a_figure_as_text_is_exactly_the_number(number: float | Decimal) -> None:
    text = decimal_text(number)
    assert "e" not in text.lower()
    assert text != "-0"
    assert Decimal(text) == (number if isinstance(number, Decimal) else Decimal(repr(number)))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("-Infinity")])
def test_what_is_no_number_is_no_figure(number: float | Decimal) -> None:
    with pytest.raises(ValueError, match="not a figure"):
        decimal_text(number)


def _members(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_members, value.values()))
    return set().union(*map(_members, value)) if isinstance(value, list) else set()


def test_the_reference_page_names_every_member() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "receipt.md").read_text(encoding="utf-8")
    statement = json.loads(STATEMENT)
    own_names = set(VERDICT.measured) | set(VERDICT.threshold) | {"attempts", "bytes"}
    missing = {name for name in _members(statement) - own_names if f"`{name}`" not in page and f'"{name}"' not in page}
    assert not missing
