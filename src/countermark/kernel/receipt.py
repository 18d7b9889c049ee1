"""The law of proof, on paper: one ended task as an in-toto Statement in a signed DSSE envelope.

A receipt has exactly one spelling: RFC 8785 bytes inside, one canonical envelope and a newline outside, an ed25519
signature that depends on nothing but key and payload. The same facts therefore give the same bytes at any time, and
`parse` refuses every other spelling, so two receipts that differ in a byte differ in meaning.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NoReturn

from countermark.kernel.canon import parse_strict
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.facts import ReceiptFacts, contradiction
from countermark.kernel.key import SigningKey, keyid_of, pem_of, raw_of
from countermark.kernel.predicate import DIGEST, PREDICATE, TEXT, FormError, written

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:countermark:receipt:v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
FILE_NAME: Final = "receipt.json"
"""The one file of a verified folder that is not a subject."""
MAX_BYTES: Final = 16 * 1024 * 1024

_STATEMENT: Final = f'{{"_type":"{STATEMENT_TYPE}","predicate":%s,"predicateType":"{PREDICATE_TYPE}","subject":[%s]}}'
_ENVELOPE: Final = (
    b'{"payload":"%b","payloadType":"' + PAYLOAD_TYPE.encode("ascii") + b'","signatures":[{"keyid":"%b","sig":"%b"}]}\n'
)
_PAE: Final = b"DSSEv1 %d %b %%d %%b" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode("ascii"))
_SIGNATURE_LENGTH: Final = 64

register(Ending.FAILED, "receipt_invalid")


@dataclass(frozen=True, slots=True)
class Subject:
    """One artefact that the receipt speaks of: its path below the folder, with `/`, and its hexadecimal SHA-256."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that was read in its one spelling; `payload` is what `signature` covers, through `pae`.

    Reading proves no signature: that is `verification.verify`.
    """

    facts: ReceiptFacts
    subjects: tuple[Subject, ...]
    payload: bytes
    signature: bytes


def statement_bytes(facts: ReceiptFacts, subjects: Iterable[Subject]) -> bytes:
    """Return the in-toto Statement v1 of these facts as RFC 8785 bytes, subjects sorted by name.

    Raise `receipt_invalid` for facts that have no wire form or contradict each other, and for a subject whose name is
    not a plain path below the folder: what is signed can always be read again.
    """
    against = contradiction(facts)
    if against is not None:
        _refuse(f"its facts contradict each other: {against.rstrip('.')}", "/predicate")
    try:
        return (_STATEMENT % (written(PREDICATE, facts), _written(subjects))).encode("utf-8")
    except FormError as error:
        _refuse(f"wanted {error.wanted}", "/predicate" + error.at)
    except (UnicodeError, RecursionError) as error:
        _refuse(f"it holds text or nesting that JSON cannot carry ({type(error).__name__})", "/predicate")


def pae(payload: bytes) -> bytes:
    """Return the bytes that a DSSE signature covers (DSSE v1.0, pre-authentication encoding)."""
    return _PAE % (len(payload), payload)


def envelope_bytes(payload: bytes, signer: SigningKey) -> bytes:
    """Return the signed DSSE envelope of a payload: the content of `receipt.json`."""
    return _spelled(payload, signer.keyid, signer.sign(pae(payload)))


def receipt_bytes(facts: ReceiptFacts, subjects: Iterable[Subject], signer: SigningKey) -> bytes:
    """Return the content of `receipt.json` for these facts; the same facts and key give the same bytes for ever."""
    if facts.signer.keyid != signer.keyid or facts.signer.public_key != signer.public_key:
        _refuse("its facts name another signing key than the one at hand", "/predicate/signer")
    return envelope_bytes(statement_bytes(facts, subjects), signer)


def parse(data: bytes) -> Receipt:
    """Return the typed receipt of `receipt.json`'s bytes; raise `receipt_invalid` with the place of the first fault."""
    if len(data) > MAX_BYTES:
        _refuse(f"it is larger than {MAX_BYTES} bytes", "")
    envelope = _object(_json(data), "", "payload", "payloadType", "signatures")
    if envelope["payloadType"] != PAYLOAD_TYPE:
        _refuse(f"the payload type is not {PAYLOAD_TYPE}", "/payloadType")
    signatures = envelope["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        _refuse("wanted exactly one signature", "/signatures")
    signed = _object(signatures[0], "/signatures/0", "keyid", "sig")
    payload = _unbased(envelope["payload"], "/payload")
    signature = _unbased(signed["sig"], "/signatures/0/sig")
    keyid = _digest(signed["keyid"], "/signatures/0/keyid")
    if len(signature) != _SIGNATURE_LENGTH:
        _refuse(f"an ed25519 signature has {_SIGNATURE_LENGTH} bytes", "/signatures/0/sig")
    if _spelled(payload, keyid, signature) != data:
        _refuse("the envelope is spelled in another way than the canonical one", "")
    receipt = _receipt(payload, signature)
    _check_signatory(receipt.facts, keyid)
    return receipt


def _receipt(payload: bytes, signature: bytes) -> Receipt:
    statement = _object(_json(payload), "/payload", "_type", "predicate", "predicateType", "subject")
    if statement["_type"] != STATEMENT_TYPE:
        _refuse(f"the statement type is not {STATEMENT_TYPE}", "/payload/_type")
    if statement["predicateType"] != PREDICATE_TYPE:
        _refuse(f"the predicate type is not {PREDICATE_TYPE}", "/payload/predicateType")
    try:
        facts = PREDICATE.read(statement["predicate"])
    except FormError as error:
        _refuse(f"wanted {error.wanted}", "/payload/predicate" + error.at)
    receipt = Receipt(facts, _subjects(statement["subject"]), payload, signature)
    if statement_bytes(facts, receipt.subjects) != payload:
        _refuse("the statement is spelled in another way than the canonical one", "/payload")
    return receipt


def _check_signatory(facts: ReceiptFacts, keyid: str) -> None:
    public_key = facts.signer.public_key
    try:
        own = keyid_of(public_key)
        standing = public_key == pem_of(raw_of(public_key))
    except CountermarkError:
        standing = False
    if not standing:
        _refuse("wanted an ed25519 public key as PEM", "/payload/predicate/signer/publicKey")
    if not own == keyid == facts.signer.keyid:
        _refuse("the key id is not that of the public key inside", "/payload/predicate/signer/keyid")


def _written(subjects: Iterable[Subject]) -> str:
    last = None
    items = []
    for subject in sorted(subjects, key=attrgetter("name")):
        if not is_plain(subject.name) or subject.name == last:
            _refuse(f"{subject.name!r} is no path of its own below the folder", "/subject")
        last = subject.name
        digest = _digest(subject.digest, "/subject")
        items.append(f'{{"digest":{{"sha256":"{digest}"}},"name":{written(TEXT, last)}}}')
    return ",".join(items)


def is_plain(name: str) -> bool:
    """Return whether a subject name is a relative path without `.`, `..` or empty steps, and not the receipt's own."""
    return name != FILE_NAME and "\0" not in name and not {"", ".", ".."}.intersection(name.split("/"))


def _subjects(items: Any) -> tuple[Subject, ...]:
    if not isinstance(items, list):
        _refuse("wanted an array", "/payload/subject")
    found = []
    for place, item in enumerate(items):
        at = f"/payload/subject/{place}"
        named = _object(item, at, "digest", "name")
        if not isinstance(named["name"], str):
            _refuse("wanted a string", f"{at}/name")
        digests = _object(named["digest"], f"{at}/digest", "sha256")
        found.append(Subject(named["name"], _digest(digests["sha256"], f"{at}/digest/sha256")))
    return tuple(found)


def _spelled(payload: bytes, keyid: str, signature: bytes) -> bytes:
    return _ENVELOPE % (b64encode(payload), keyid.encode("ascii"), b64encode(signature))


def _json(data: bytes) -> Any:
    try:
        return parse_strict(data, what="The receipt")
    except CountermarkError as error:
        _refuse(error.sentence.rstrip("."), "")


def _object(value: Any, at: str, *members: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or value.keys() != set(members):
        _refuse(f"wanted an object with exactly the members {', '.join(members)}", at)
    return value


def _digest(value: Any, at: str) -> str:
    try:
        digest: str = DIGEST.read(value)
    except FormError as error:
        _refuse(f"wanted {error.wanted}", at)
    return digest


def _unbased(value: Any, at: str) -> bytes:
    try:
        return b64decode(value if isinstance(value, str) else b"?", validate=True)
    except ValueError:
        _refuse("wanted base64", at)


def _refuse(why: str, at: str) -> NoReturn:
    raise CountermarkError(
        "receipt_invalid",
        f"This is not a valid receipt: {why} (at {at or 'the top'}).",
        next_action="Ask whoever gave you the receipt for an unchanged copy.",
        details={"at": at},
    )
