"""Looking at a receipt offline: does it stand, who signed it, and are the files beside it the ones it speaks of.

The signature is checked by securesystemslib, not by the code that made it. A folder is compared name by name: every
subject there with its digest, and nothing there beside the subjects and `receipt.json`. Folders without files do not
count. Nothing is written and nothing outside the folder is read; links are named, never followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from countermark.kernel.beneath import Beneath, open_argument
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.facts import Gap
from countermark.kernel.key import TrustedKey, raw_of
from countermark.kernel.receipt import FILE_NAME, MAX_BYTES, PAYLOAD_TYPE, Receipt, parse

_SHOWN: Final = 3

register(Ending.FAILED, "receipt_mismatch")
register(Ending.UNKNOWN, "signer_unknown")


@dataclass(frozen=True, slots=True)
class Verification:
    """The evidence that a receipt stands.

    `signer` is the name under which the signing key is trusted, or None: then the receipt is consistent with itself
    and with its files, which anybody can bring about with a key of their own. `files` holds the names that were looked
    at, sorted, or is None where the receipt alone was given.
    """

    receipt: Receipt
    signer: str | None
    files: tuple[str, ...] | None

    @property
    def sentence(self) -> str:
        """The result in the words that every surface shows."""
        return f"signed by {self.signer}" if self.signer is not None else "consistent, signer unknown"

    @property
    def not_checked(self) -> tuple[Gap, ...]:
        """What this verification leaves open, beside what the receipt itself says was not checked."""
        gaps = []
        if self.signer is None:
            gaps.append(Gap("who signed", "the key that signed is not among the trusted ones"))
        if self.files is None and self.receipt.subjects:
            gaps.append(Gap("the files", "only the receipt was given, not the folder it speaks of"))
        return tuple(gaps)

    def require_signer(self) -> None:
        """Raise `signer_unknown` unless the signing key is trusted; a surface calls this last, for its exit status."""
        if self.signer is None:
            keyid = self.receipt.facts.signer.keyid
            raise CountermarkError(
                "signer_unknown",
                f"The receipt is consistent, but its signer is unknown here (key {keyid[:12]}).",
                next_action="Get the public key from the person who holds it, and verify again with `--key FILE`.",
                details={"keyid": keyid},
            )


def verify(place: str | os.PathLike[str], trusted: Iterable[TrustedKey] = ()) -> Verification:
    """Return the evidence that a folder matches its `receipt.json`, or that a receipt by itself is sound.

    Raise `not_found`, `not_a_regular_file` or `input_too_large` where there is no receipt to read, `receipt_invalid`
    for a receipt in any other spelling or with a signature that does not fit, and `receipt_mismatch` for a folder that
    differs: its details list the names that are `changed`, `missing`, `extra` and `irregular` (links, pipes, devices).
    """
    if not os.path.isdir(place):  # noqa: PTH112 - a path that is none is no folder; `Path.is_dir` raises for some
        receipt = parse(open_argument(os.fspath(place), MAX_BYTES))
        return Verification(receipt, _signer(receipt, trusted), None)
    with Beneath(place) as folder:
        if not folder.exists(FILE_NAME):
            raise CountermarkError(
                "not_found",
                f"This folder holds no {FILE_NAME}, so there is nothing to verify it by.",
                next_action=f"Name the folder that holds {FILE_NAME}, or the receipt itself.",
            )
        receipt = parse(folder.read(FILE_NAME, cap=MAX_BYTES))
        signer = _signer(receipt, trusted)
        return Verification(receipt, signer, _compare(folder, receipt))


def _signer(receipt: Receipt, trusted: Iterable[TrustedKey]) -> str | None:
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - a sixth of a second
    from securesystemslib.exceptions import VerificationError  # noqa: PLC0415 - likewise
    from securesystemslib.signer import (  # type: ignore[attr-defined]  # noqa: PLC0415 - its documented face, without __all__
        Signature,
        SSlibKey,
    )

    keyid = receipt.facts.signer.keyid
    public = raw_of(receipt.facts.signer.public_key).hex()
    envelope = Envelope(receipt.payload, PAYLOAD_TYPE, {keyid: Signature(keyid, receipt.signature.hex())})
    try:
        envelope.verify([SSlibKey(keyid, "ed25519", "ed25519", {"public": public})], 1)
    except VerificationError:
        raise CountermarkError(
            "receipt_invalid",
            "The signature does not fit: the receipt was changed after it was signed.",
            next_action="Ask whoever gave you the receipt for an unchanged copy.",
            details={"at": "/signatures/0/sig"},
        ) from None
    # A key id is the digest of the key, and `parse` compared it with the key inside.
    return next((key.name for key in trusted if key.keyid == keyid), None)


def _compare(folder: Beneath, receipt: Receipt) -> tuple[str, ...]:
    wanted = {subject.name: subject.digest for subject in receipt.subjects}
    found = {entry.name: entry.kind for entry in folder.walk() if entry.kind != "folder" and entry.name != FILE_NAME}
    irregular = {name for name, kind in found.items() if kind != "file"}
    changed, missing = set(), wanted.keys() - found.keys()
    for name in wanted.keys() & found.keys() - irregular:
        try:
            if folder.digest(name) != wanted[name]:
                changed.add(name)
        except CountermarkError as error:
            if error.code != "not_found":
                raise
            missing.add(name)
    differences = {
        "changed": changed,
        "missing": missing,
        "extra": found.keys() - wanted.keys() - irregular,
        "irregular": irregular,
    }
    if any(differences.values()):
        raise _mismatch({kind: sorted(map(_printable, names)) for kind, names in differences.items()})
    return tuple(sorted(wanted))


def _mismatch(differences: dict[str, list[str]]) -> CountermarkError:
    words = {"irregular": "not a regular file"}
    said = []
    for kind, names in differences.items():
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            said.append(f"{words.get(kind, kind)}: {', '.join(names[:_SHOWN])}{more}")
    return CountermarkError(
        "receipt_mismatch",
        f"The folder is not what its receipt speaks of; {'; '.join(said)}.",
        next_action="Use an unchanged copy, or have the files made again under a receipt of their own.",
        details=differences,
    )


def _printable(name: str) -> str:
    """Return a name fit for a line and for JSON: it may hold control characters and bytes that are no text."""
    return name if name.isprintable() else ascii(name)[1:-1]
