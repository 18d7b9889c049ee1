from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import TEMP_PREFIX, OsCalls, Root
from countermark.kernel.store import Store
from countermark.testkit.disk import DeafCalls

DATA = b"a logo"
SHA = sha256_hex(DATA)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "store").mkdir()
    with Root(tmp_path / "store") as root:
        yield Store(root)


def blob(store: Store, sha256: str) -> Path:
    return Path(store.root.path) / sha256[:2] / sha256[2:]


def damage(store: Store, sha256: str, data: bytes = b"another") -> None:
    blob(store, sha256).chmod(0o644)
    blob(store, sha256).write_bytes(data)


def test_what_was_put_is_got_by_its_digest(store: Store) -> None:
    assert store.put(DATA) == SHA
    assert store.has(SHA)
    assert store.get(SHA, len(DATA)) == DATA
    assert list(store.digests()) == [SHA]


@given(st.lists(st.binary(max_size=64), max_size=8))
def test_any_bytes_come_back_and_equal_bytes_are_kept_once(
    tmp_path_factory: pytest.TempPathFactory, data: list[bytes]
) -> None:
    with Root(tmp_path_factory.mktemp("store"), calls=DeafCalls(OsCalls())) as root:
        store = Store(root)
        digests = [store.put(one) for one in data]
        assert [store.get(sha256, 64) for sha256 in digests] == data
        assert list(store.digests()) == sorted(set(digests))
        assert store.verify_all() == (len(set(digests)), ())


def test_a_second_put_changes_nothing(store: Store) -> None:
    store.put(DATA)
    before = blob(store, SHA).stat()
    store.put(DATA)
    assert blob(store, SHA).stat().st_ino == before.st_ino


def test_a_blob_cannot_be_edited_by_accident(store: Store) -> None:
    store.put(DATA)
    assert stat.S_IMODE(blob(store, SHA).stat().st_mode) == 0o444


def test_a_descriptor_is_stored_in_blocks_under_its_digest(store: Store, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(DATA)
    for _ in range(2):
        fd = os.open(tmp_path / "source", os.O_RDONLY)
        assert store.put_fd(fd, len(DATA)) == SHA
        os.close(fd)
    fd = os.open(tmp_path / "source", os.O_RDONLY)
    with pytest.raises(CountermarkError) as error:
        store.put_fd(fd, len(DATA) - 1)
    os.close(fd)
    assert error.value.code == "input_too_large"
    assert list(store.digests()) == [SHA]
    assert not [path for path in Path(store.root.path).rglob("*") if path.name.startswith(TEMP_PREFIX)]


@pytest.mark.parametrize("sha256", ["", "../" + SHA, SHA.upper(), SHA[:-1], f"{SHA}\n"])
def test_only_a_digest_is_a_name(store: Store, sha256: str) -> None:
    for act in (store.has, lambda name: store.get(name, 1), lambda name: store.quarantine(name, "")):
        with pytest.raises(CountermarkError) as error:
            act(sha256)
        assert error.value.code == "input_invalid"


def test_a_missing_blob_is_not_found(store: Store, tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        for act in (
            lambda: store.get(SHA, 1),
            lambda: store.copy_to(SHA, root, "a"),
            lambda: store.quarantine(SHA, ""),
        ):
            with pytest.raises(CountermarkError) as error:
                act()
            assert error.value.code == "not_found"


@pytest.mark.promise("kernel.files.failed-write-changes-nothing")
def test_a_damaged_blob_is_set_aside_and_never_given_out(store: Store, tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        for act in (lambda: store.get(SHA, 100), lambda: store.copy_to(SHA, root, "out")):
            store.put(DATA)
            damage(store, SHA)
            with pytest.raises(CountermarkError) as error:
                act()
            assert error.value.code == "artifact_invalid"
            assert SHA in error.value.sentence
            assert not store.has(SHA)
    assert not (tmp_path / "out").exists()
    aside = Path(store.root.path) / "quarantine"
    assert [(aside / f"{SHA}.{number}").read_bytes() for number in (0, 1)] == [b"another", b"another"]
    note = json.loads((aside / f"{SHA}.0.json").read_text())
    assert (note["digest"], note["found"]) == (SHA, sha256_hex(b"another"))


def test_a_damaged_blob_is_healed_by_putting_it_again(store: Store, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(DATA)
    for put in ("put", "put_fd"):
        store.put(DATA)
        damage(store, SHA)
        if put == "put":
            store.put(DATA)
        else:
            fd = os.open(tmp_path / "source", os.O_RDONLY)
            store.put_fd(fd, 100)
            os.close(fd)
        assert store.get(SHA, 100) == DATA


def test_a_copy_is_a_file_of_its_own(store: Store, tmp_path: Path) -> None:
    store.put(DATA)
    with Root(tmp_path) as root:
        store.copy_to(SHA, root, "out")
        with pytest.raises(CountermarkError) as error:
            store.copy_to(SHA, root, "out")
    assert error.value.code == "output_exists"
    (tmp_path / "out").write_bytes(b"edited")
    assert store.get(SHA, 100) == DATA


def test_an_audit_finds_every_damaged_blob(store: Store) -> None:
    digests = [store.put(bytes([number])) for number in range(5)]
    damage(store, digests[1])
    damage(store, digests[3], b"")
    assert store.verify_all() == (3, tuple(sorted([digests[1], digests[3]])))
    assert store.verify_all() == (3, ())


def test_what_is_set_aside_on_purpose_keeps_its_reason(store: Store) -> None:
    store.put(DATA)
    aside = store.quarantine(SHA, "its grant was revoked")
    assert not store.has(SHA)
    assert store.root.read(aside, cap=100) == DATA
    assert json.loads(store.root.read(f"{aside}.json", cap=1000))["reason"] == "its grant was revoked"


def _put_many(path: str, numbers: range) -> None:
    with Root(path) as root:
        store = Store(root)
        for number in numbers:
            data = bytes([number]) * 100
            assert store.get(store.put(data), 100) == data


def test_two_processes_put_the_same_blobs_at_once(store: Store) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_put_many, args=(store.root.path, range(60))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert store.verify_all() == (60, ())
    assert not [path for path in Path(store.root.path).rglob("*") if path.name.startswith(TEMP_PREFIX)]
