"""A receipt's facts as tests need them: a full one, any one, and a key that signs them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import strategies as st

from countermark.kernel.facts import (
    Acceptance,
    Gap,
    GrantFact,
    LedgerPlace,
    ReceiptFacts,
    ResourceFact,
    Signatory,
    Times,
)
from countermark.kernel.key import SigningKey, keyid_of, pem_of
from countermark.kernel.plan import InputRef, RuntimeIdentity
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.kernel.receipt import FILE_NAME, Subject, receipt_bytes
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.state import TERMINAL, State


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def signing_key(seed: str = "ours") -> SigningKey:
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed.encode()).digest())
    pem = pem_of(private.public_key().public_bytes_raw())
    return SigningKey(keyid_of(pem), pem, private.sign)


KEY = signing_key()
STRANGER = signing_key("somebody else")
SIGNATORY = Signatory(KEY.keyid, KEY.public_key)
VERDICT = Verdict(
    check="png.decodes",
    status=Status.PASSED,
    required=True,
    maker=Engine("skia 138", digest("skia")),
    observer=Engine("pillow 12", digest("pillow")),
    subjects=(digest("a"),),
    measured={"pixelsOff": "0.0042", "width": 1024, "mode": "RGBA", "alpha": True},
    threshold={"pixelsOff": "0.01"},
    source="a measured figure",
)


def facts(**changed: Any) -> ReceiptFacts:
    """Return the facts of a completed task, with some of them changed."""
    said: dict[str, Any] = {
        "task_id": "t-1",
        "idempotency_key": "k-1",
        "parent_task": None,
        "supersedes": None,
        "attempt": 1,
        "epoch": 3,
        "authorization_ref": "g-2",
        "grants": (GrantFact("g-1", "ada", "ada", digest("g1")), GrantFact("g-2", "ada", "agent", digest("g2"))),
        "effect": "vector.write",
        "effect_class": EffectClass.IDEMPOTENT_WRITE,
        "plan_digest": digest("plan"),
        "input_refs": (InputRef("logo.svg", f"sha256:{digest('logo')}", digest("logo")),),
        "resources": (ResourceFact("file:kit", "absent", "absent", f"sha256:{digest('kit')}"),),
        "runtime_identity": RuntimeIdentity("skia", "138", digest("skia"), "child", digest("capabilities")),
        "deadline": 1_800_000_000_000,
        "budget": {"attempts": 3},
        "uses": {"attempts": 1, "bytes": 4096},
        "verdicts": (VERDICT,),
        "not_checked": (Gap("text", "the document holds none"),),
        "acceptance": Acceptance("rule checks", "checks", digest("evidence"), authenticated=False),
        "state": State.COMPLETED,
        "code": "",
        "executed": Executed.YES,
        "times": Times(1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_002),
        "ledger": LedgerPlace("w-1", digest("head"), 17),
        "signer": SIGNATORY,
    }
    return ReceiptFacts(**(said | changed))


def folder_with(place: Path, files: Mapping[str, bytes], *, key: SigningKey = KEY, **changed: Any) -> Path:
    """Make a folder of files with its receipt, and return it."""
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    subjects = [Subject(name, digest(content)) for name, content in files.items()]
    place.mkdir(exist_ok=True)
    signed = receipt_bytes(facts(signer=Signatory(key.keyid, key.public_key), **changed), subjects, key)
    (place / FILE_NAME).write_bytes(signed)
    return place


_TEXT = st.text(max_size=12)
_MAYBE = st.none() | _TEXT
_DIGEST = st.binary(max_size=2).map(digest)
_WHOLE = st.integers(0, 2**53 - 1)
_FIGURES = st.dictionaries(
    _TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | _TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)
_ENGINE = st.builds(Engine, label=_TEXT, digest=_TEXT)
_VERDICT = st.builds(
    Verdict,
    check=_TEXT,
    status=st.sampled_from(Status),
    required=st.booleans(),
    maker=_ENGINE,
    observer=_ENGINE,
    subjects=st.lists(_TEXT, max_size=2).map(tuple),
    measured=_FIGURES,
    threshold=_FIGURES,
    reason=_TEXT,
    source=_TEXT,
)
ANY_FACTS = st.builds(
    ReceiptFacts,
    task_id=_TEXT,
    idempotency_key=_TEXT,
    parent_task=_MAYBE,
    supersedes=_MAYBE,
    attempt=_WHOLE,
    epoch=st.none() | _WHOLE,
    authorization_ref=_TEXT,
    grants=st.lists(st.builds(GrantFact, id=_TEXT, issuer=_TEXT, holder=_TEXT, digest=_DIGEST), max_size=2).map(tuple),
    effect=_TEXT,
    effect_class=st.sampled_from(EffectClass),
    plan_digest=_DIGEST,
    input_refs=st.lists(st.builds(InputRef, name=_TEXT, version=_TEXT, digest=_DIGEST), max_size=2).map(tuple),
    resources=st.lists(
        st.builds(ResourceFact, name=_TEXT, expected_revision=_MAYBE, revision_before=_MAYBE, revision_after=_MAYBE),
        max_size=2,
    ).map(tuple),
    runtime_identity=st.none()
    | st.builds(RuntimeIdentity, name=_TEXT, version=_TEXT, digest=_TEXT, mode=_TEXT, capabilities=_TEXT),
    deadline=st.none() | _WHOLE,
    budget=st.dictionaries(_TEXT, _WHOLE, max_size=3),
    uses=st.dictionaries(_TEXT, _WHOLE, max_size=3),
    verdicts=st.lists(_VERDICT, max_size=2).map(tuple),
    not_checked=st.lists(st.builds(Gap, what=_TEXT, why=_TEXT), max_size=2).map(tuple),
    acceptance=st.none()
    | st.builds(
        Acceptance, by=_TEXT, how=st.sampled_from(["checks", "person"]), evidence=_DIGEST, authenticated=st.booleans()
    ),
    # A completed task would have to have passed; what is drawn here knows nothing of that.
    state=st.sampled_from(sorted(TERMINAL - {State.COMPLETED})),
    code=_TEXT,
    executed=st.sampled_from(Executed),
    times=st.builds(Times, created=_WHOLE, started=st.none() | _WHOLE, finished=_WHOLE),
    ledger=st.builds(LedgerPlace, workspace=_TEXT, chain_head=_DIGEST, seq=_WHOLE, entered_late=st.booleans()),
    signer=st.just(SIGNATORY),
)
