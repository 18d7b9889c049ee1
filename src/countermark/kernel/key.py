"""Signing keys of a workspace, and the public keys of others that it trusts.

The keys folder holds `<keyid>.key` (PKCS#8 PEM, mode 0600) and `<keyid>.pub` (SubjectPublicKeyInfo PEM) for each own
key, `current` with the id of the one that signs, and `trusted-<keyid>.json` for each key of somebody else. A key id is
the SHA-256 that securesystemslib gives the same key, so a stock DSSE verifier finds it. `current` is written last: a
crash before it leaves the old key in force.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from countermark.kernel.canon import canonical, parse_strict, sha256_hex
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.files import Root

MAX_BYTES: Final = 4096
OWN_NAME: Final = "this workspace"
"""The name under which a workspace trusts its own keys."""

_CURRENT: Final = "current"
_LONGEST_NAME: Final = 100
_OTHERS_MAY_READ: Final = 0o077
_SPKI: Final = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of every ed25519 SubjectPublicKeyInfo (RFC 8410 §4)."""
_PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/]{59}=)\s+-----END PUBLIC KEY-----")
_OWN: Final = re.compile(r"([0-9a-f]{64})\.pub")
_TRUSTED: Final = re.compile(r"trusted-([0-9a-f]{64})\.json")

register(Ending.NOT_FOUND, "key_missing")
register(Ending.FAILED, "key_invalid")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One private key, loaded: its id, its public half as PEM, and its signature.

    `sign` takes bytes and returns the 64 bytes of the ed25519 signature, the same ones for the same data (RFC 8032).
    """

    keyid: str
    public_key: str
    sign: Callable[[bytes], bytes] = field(repr=False)


class TrustedKey(NamedTuple):
    """A public key and the name a person gave to whoever holds it."""

    name: str
    keyid: str
    public_key: str


class OwnKey(NamedTuple):
    """One of a workspace's own keys; `exposed` says that other users of the machine may read the private half."""

    keyid: str
    public_key: str
    state: Literal["current", "retired", "public half only"]
    exposed: bool


class Keys:
    """The keys folder of a workspace, opened as a root of its own.

    Raises `key_missing` for a key that is not there and `key_invalid` for one that is damaged, beside what `Root`
    raises. What was loaded is kept, so signing costs no reading.
    """

    def __init__(self, root: Root) -> None:
        """Use the keys folder that `root` has open; the caller closes it."""
        self._root = root
        self._loaded: dict[str, SigningKey] = {}
        self._public: dict[str, str] = {}
        self._current: tuple[tuple[int, int], str] | None = None

    def create(self) -> SigningKey:
        """Make the workspace's first key and return it; raise `output_exists` when there is one."""
        if self._root.exists(_CURRENT):
            raise CountermarkError(
                "output_exists",
                "This workspace has a signing key already.",
                next_action="See it with `countermark key show`, or replace it with `countermark key rotate`.",
            )
        key = self._make()
        self._root.create(_CURRENT, key.keyid.encode("ascii"))
        return key

    def rotate(self) -> SigningKey:
        """Make a new key, let it sign from now on, and return it; the old one stays until `retire_rendered`."""
        self.current_id()
        key = self._make()
        self._root.replace(_CURRENT, key.keyid.encode("ascii"))
        return key

    def current_id(self) -> str:
        """Return the id of the key that signs now, a rotation by another process included."""
        try:
            stands = self._root.stat(_CURRENT)
            seen = (stands.st_ino, stands.st_mtime_ns)  # `replace` puts a new file there, so one look is enough
            if self._current is None or self._current[0] != seen:
                self._current = seen, self._root.read(_CURRENT, cap=MAX_BYTES).decode("ascii", "replace")
        except CountermarkError as error:
            if error.code != "not_found":
                raise
            raise CountermarkError(
                "key_missing",
                "This workspace has no signing key.",
                next_action="Make the workspace again with `countermark init`, or restore its keys folder.",
            ) from error
        return self._current[1]

    def current(self) -> SigningKey:
        """Return the key that signs now."""
        return self.signing(self.current_id())

    def signing(self, keyid: str) -> SigningKey:
        """Return the private key with this id, the current one or one whose receipts are not all rendered."""
        key = self._loaded.get(keyid)
        if key is None:
            key = self._loaded[keyid] = self._load(keyid)
        return key

    def public(self, keyid: str) -> str:
        """Return the PEM of an own key's public half, which is kept for ever."""
        pem = self._public.get(keyid)
        if pem is None:
            pem = self._public[keyid] = self._read_public(keyid)
        return pem

    def own(self) -> tuple[OwnKey, ...]:
        """Return every own key, sorted by id."""
        names = {entry.name for entry in self._root.listing()}
        current = self.current_id() if _CURRENT in names else ""
        keys = []
        for keyid in sorted(found[1] for name in names if (found := _OWN.fullmatch(name))):
            private = f"{keyid}.key"
            held = private in names
            state: Literal["current", "retired", "public half only"] = (
                "public half only" if not held else "current" if keyid == current else "retired"
            )
            exposed = held and bool(self._root.stat(private).st_mode & _OTHERS_MAY_READ)
            keys.append(OwnKey(keyid, self._read_public(keyid), state, exposed))
        return tuple(keys)

    def retire_rendered(self, keyid: str) -> None:
        """Drop the private half of a key whose receipts are all rendered; raise `illegal_state` for the current one."""
        if self.current_id() == keyid:
            raise CountermarkError(
                "illegal_state",
                "The key that signs now cannot be dropped.",
                next_action="Rotate first: `countermark key rotate`.",
                details={"keyid": keyid},
            )
        self.public(keyid)
        self._loaded.pop(keyid, None)
        if self._root.exists(f"{keyid}.key"):
            self._root.remove(f"{keyid}.key")

    def trust(self, public_key: str, name: str) -> TrustedKey:
        """Remember somebody's public key under a name, and return it; the same key again takes the new name."""
        key = trusted_key(public_key, name)
        if key.name == OWN_NAME:
            raise _bad_name()
        wire = {"name": key.name, "publicKey": key.public_key}
        self._root.replace(f"trusted-{key.keyid}.json", canonical(wire) + b"\n")
        return key

    def distrust(self, keyid: str) -> None:
        """Forget somebody's public key; raise `key_missing` when it was not trusted."""
        name = f"trusted-{keyid}.json"
        if not (_TRUSTED.fullmatch(name) and self._root.exists(name)):
            raise _missing(keyid)
        self._root.remove(name)

    def trusted(self) -> tuple[TrustedKey, ...]:
        """Return every public key a receipt may be signed with here: own ones first, then those of others."""
        own = [TrustedKey(OWN_NAME, key.keyid, key.public_key) for key in self.own()]
        names = [entry.name for entry in self._root.listing() if _TRUSTED.fullmatch(entry.name)]
        return (*own, *(self._read_trusted(name) for name in names))

    def _read_public(self, keyid: str) -> str:
        name = f"{keyid}.pub"
        if not (_OWN.fullmatch(name) and self._root.exists(name)):
            raise _missing(keyid)
        pem = self._root.read(name, cap=MAX_BYTES).decode("utf-8", "replace")
        if _keyid_or_none(pem) != keyid:
            raise _damaged(name)
        return pem

    def _read_trusted(self, name: str) -> TrustedKey:
        try:
            wire = parse_strict(self._root.read(name, cap=MAX_BYTES), what=name)
            key = trusted_key(wire["publicKey"], wire["name"])
        except (CountermarkError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(name) from error
        if name != f"trusted-{key.keyid}.json":
            raise _damaged(name)
        return key

    def _make(self) -> SigningKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - heavy
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - heavy
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        private = Ed25519PrivateKey.generate()
        public_key = pem_of(private.public_key().public_bytes_raw())
        keyid = keyid_of(public_key)
        secret = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._root.create(f"{keyid}.key", secret, mode=0o600)
        self._root.create(f"{keyid}.pub", public_key.encode("ascii"))
        key = self._loaded[keyid] = SigningKey(keyid, public_key, private.sign)
        return key

    def _load(self, keyid: str) -> SigningKey:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - heavy
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - heavy
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - heavy

        public_key = self.public(keyid)
        name = f"{keyid}.key"
        if not self._root.exists(name):
            raise _missing(keyid)
        try:
            private = load_pem_private_key(self._root.read(name, cap=MAX_BYTES), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise _damaged(name) from None  # the library's own words may quote the file
        if not isinstance(private, Ed25519PrivateKey) or pem_of(private.public_key().public_bytes_raw()) != public_key:
            raise _damaged(name)
        return SigningKey(keyid, public_key, private.sign)


def raw_of(public_key: str) -> bytes:
    """Return the 32 bytes of an ed25519 public key given as PEM; raise `input_invalid` for anything else."""
    found = _PEM.fullmatch(public_key.strip())
    spki = b64decode(found[1]) if found else b""
    if not spki.startswith(_SPKI):
        raise CountermarkError(
            "input_invalid",
            "This is not an ed25519 public key in PEM form.",
            next_action="Give the text that `countermark key show` prints, from BEGIN to END PUBLIC KEY.",
        )
    return spki[len(_SPKI) :]


def pem_of(raw: bytes) -> str:
    """Return the one PEM spelling of an ed25519 public key."""
    return f"-----BEGIN PUBLIC KEY-----\n{b64encode(_SPKI + raw).decode('ascii')}\n-----END PUBLIC KEY-----\n"


def keyid_of(public_key: str) -> str:
    """Return the key id of a public key given as PEM, as securesystemslib computes it; raise `input_invalid`."""
    public = raw_of(public_key).hex()
    return sha256_hex(canonical({"keytype": "ed25519", "keyval": {"public": public}, "scheme": "ed25519"}))


def trusted_key(public_key: str, name: str) -> TrustedKey:
    """Return a public key under the name of whoever holds it; raise `input_invalid` for a bad key or name."""
    pem = pem_of(raw_of(public_key))
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise _bad_name()
    return TrustedKey(name, keyid_of(pem), pem)


def _bad_name() -> CountermarkError:
    return CountermarkError(
        "input_invalid",
        f"The name of a key is one printable line of at most {_LONGEST_NAME} characters, and not `{OWN_NAME}`.",
        next_action="Give the name of the person or workspace that holds the key.",
    )


def _keyid_or_none(pem: str) -> str | None:
    try:
        return keyid_of(pem) if pem == pem_of(raw_of(pem)) else None
    except CountermarkError:
        return None


def _missing(keyid: str) -> CountermarkError:
    return CountermarkError(
        "key_missing",
        f"The key {keyid[:12]} is not in this workspace.",
        next_action="See the keys there are with `countermark key show`, or restore the keys folder.",
        details={"keyid": keyid},
    )


def _damaged(name: str) -> CountermarkError:
    return CountermarkError(
        "key_invalid",
        f"The key file {name} is damaged or belongs to another key.",
        next_action="Restore the keys folder from a backup; to go on without it, run `countermark key rotate`.",
        details={"file": name},
    )
