from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]  # its documented face, without __all__

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import OsCalls, Root
from countermark.kernel.key import OWN_NAME, Keys, keyid_of, pem_of, raw_of, trusted_key


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "keys"
    place.mkdir()
    return place


@pytest.fixture
def keys(folder: Path) -> Iterator[Keys]:
    with Root(folder) as root:
        yield Keys(root)


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(CountermarkError) as caught:
        call()
    assert "PRIVATE" not in str(caught.value)
    return caught.value.code


def pem_by_cryptography(private: Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def secret_pem(private: object) -> bytes:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # type: ignore[attr-defined,no-any-return]


@given(st.binary(min_size=32, max_size=32))
def test_pem_and_key_id_are_those_of_the_standard_libraries(seed: bytes) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    pem = pem_of(private.public_key().public_bytes_raw())
    assert pem == pem_by_cryptography(private)
    assert raw_of(pem) == private.public_key().public_bytes_raw()
    assert keyid_of(pem) == CryptoSigner(private).public_key.keyid


def test_a_new_key_signs_what_its_public_half_verifies(keys: Keys) -> None:
    key = keys.create()
    public = Ed25519PublicKey.from_public_bytes(raw_of(key.public_key))
    public.verify(key.sign(b"words"), b"words")
    assert key.sign(b"words") == key.sign(b"words")


def test_the_private_half_is_for_its_owner_alone(keys: Keys, folder: Path) -> None:
    key = keys.create()
    assert stat.S_IMODE((folder / f"{key.keyid}.key").stat().st_mode) == 0o600
    assert "sign" not in repr(key)
    assert not keys.own()[0].exposed
    (folder / f"{key.keyid}.key").chmod(0o640)
    assert keys.own()[0].exposed


def test_another_process_signs_with_the_same_key(keys: Keys, folder: Path) -> None:
    key = keys.create()
    with Root(folder) as root:
        other = Keys(root)
        assert other.current().sign(b"words") == key.sign(b"words")
        assert other.current() is other.current()
        newer = other.rotate()
    assert keys.current_id() == newer.keyid
    assert keys.current().sign(b"words") == newer.sign(b"words")


def test_a_workspace_gets_one_first_key(keys: Keys) -> None:
    key = keys.create()
    assert code_of(keys.create) == "output_exists"
    assert keys.current_id() == key.keyid


def test_a_workspace_without_a_key_says_so(keys: Keys) -> None:
    assert code_of(keys.current) == "key_missing"
    assert code_of(keys.rotate) == "key_missing"
    assert keys.own() == ()
    assert keys.trusted() == ()


@pytest.mark.promise("kernel.key.rotate")
def test_a_rotated_key_stays_until_its_receipts_are_rendered(keys: Keys, folder: Path) -> None:
    old = keys.create()
    new = keys.rotate()
    assert keys.current() == new
    with Root(folder) as root:
        assert Keys(root).signing(old.keyid).sign(b"words") == old.sign(b"words")
    assert code_of(lambda: keys.retire_rendered(new.keyid)) == "illegal_state"
    keys.retire_rendered(old.keyid)
    keys.retire_rendered(old.keyid)
    assert code_of(lambda: keys.signing(old.keyid)) == "key_missing"
    assert keys.public(old.keyid) == old.public_key
    assert {key.keyid: key.state for key in keys.own()} == {old.keyid: "public half only", new.keyid: "current"}
    assert {key.name for key in keys.trusted()} == {OWN_NAME}
    assert {key.keyid for key in keys.trusted()} == {old.keyid, new.keyid}


class _FailingRename(OsCalls):
    """A disk on which nothing can be moved over `current`."""

    def rename(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        if new_name == "current":
            raise OSError(errno.EIO, "broken")
        super().rename(folder, name, new_folder, new_name)


def test_a_rotation_that_is_interrupted_leaves_the_old_key_in_force(keys: Keys, folder: Path) -> None:
    old = keys.create()
    with Root(folder, calls=_FailingRename()) as root:
        assert code_of(Keys(root).rotate) == "io_failed"
    assert keys.current() == old
    stray = next(key for key in keys.own() if key.keyid != old.keyid)
    assert stray.state == "retired"
    keys.retire_rendered(stray.keyid)


def test_a_stranger_is_trusted_under_a_name_and_forgotten_again(keys: Keys) -> None:
    keys.create()
    pem = pem_by_cryptography(Ed25519PrivateKey.generate())
    ada = keys.trust(pem.replace("\n", "\r\n"), "Ada Ł. (laptop)")
    assert ada.public_key == pem
    assert keys.trusted()[1:] == (ada,)
    assert keys.trust(pem, "Ada").name == keys.trusted()[1].name == "Ada"
    keys.distrust(ada.keyid)
    assert len(keys.trusted()) == 1
    assert code_of(lambda: keys.distrust(ada.keyid)) == "key_missing"
    assert code_of(lambda: keys.distrust("../../etc/passwd")) == "key_missing"


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a" * 101, " a", "\x1b[31m", OWN_NAME])
def test_a_name_that_could_mislead_is_refused(keys: Keys, name: str) -> None:
    pem = pem_by_cryptography(Ed25519PrivateKey.generate())
    assert code_of(lambda: keys.trust(pem, name)) == "input_invalid"
    assert keys.trusted() == ()


@pytest.mark.parametrize(
    "pem",
    [
        "",
        "no key",
        "-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----\n",
        pem_of(b"\x01" * 31),
        pem_of(b"\x01" * 33),
        pem_of(b"\x01" * 32) * 2,
        generate_private_key(SECP256R1())
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode(),
        secret_pem(Ed25519PrivateKey.generate()).decode(),
    ],
)
def test_what_is_no_ed25519_public_key_is_refused(pem: str) -> None:
    assert code_of(lambda: trusted_key(pem, "Ada")) == "input_invalid"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        secret_pem(Ed25519PrivateKey.generate()),
        secret_pem(generate_private_key(SECP256R1())),
    ],
)
def test_a_damaged_private_key_is_named_and_not_shown(keys: Keys, folder: Path, content: bytes) -> None:
    key = keys.create()
    (folder / f"{key.keyid}.key").write_bytes(content)
    with Root(folder) as root:
        assert code_of(Keys(root).current) == "key_invalid"


def test_a_public_half_that_is_another_keys_is_not_believed(keys: Keys, folder: Path) -> None:
    old, new = keys.create(), keys.rotate()
    (folder / f"{old.keyid}.pub").write_text(new.public_key)
    assert code_of(lambda: keys.public(old.keyid)) == "key_invalid"
    assert code_of(keys.trusted) == "key_invalid"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name":1,"publicKey":2}', '{"name":"Ada","publicKey":"x"}'])
def test_a_damaged_trusted_key_is_named(keys: Keys, folder: Path, content: str) -> None:
    ada = keys.trust(pem_by_cryptography(Ed25519PrivateKey.generate()), "Ada")
    (folder / f"trusted-{ada.keyid}.json").write_text(content)
    assert code_of(keys.trusted) == "key_invalid"


def test_a_trusted_key_under_another_keys_name_is_not_believed(keys: Keys, folder: Path) -> None:
    ada = keys.trust(pem_by_cryptography(Ed25519PrivateKey.generate()), "Ada")
    (folder / f"trusted-{ada.keyid}.json").rename(folder / f"trusted-{'0' * 64}.json")
    assert code_of(keys.trusted) == "key_invalid"


@pytest.mark.parametrize("keyid", ["", "x", "../x", "0" * 64])
def test_a_key_that_is_not_there_is_missing(keys: Keys, keyid: str) -> None:
    keys.create()
    assert code_of(lambda: keys.public(keyid)) == "key_missing"
    assert code_of(lambda: keys.signing(keyid)) == "key_missing"
    assert code_of(lambda: keys.retire_rendered(keyid)) == "key_missing"


def test_a_damaged_current_names_no_key(keys: Keys, folder: Path) -> None:
    keys.create()
    (folder / "current").write_bytes(b"\xff../x")
    assert code_of(keys.current) == "key_missing"
