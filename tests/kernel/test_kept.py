"""Second names, passing files and records: what is durable stands after a power loss, what fails changes nothing."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import TEMP_PREFIX, OsCalls, Root
from countermark.kernel.kept import KeptRoot
from countermark.testkit.disk import DeafCalls, FaultyCalls, Loss, LossyCalls, PowerCut

OLD, NEW = b"old content" * 20, b"new, and longer, content" * 20
QUICK = DeafCalls(OsCalls())  # the model knows what was synced


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(TEMP_PREFIX)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def prepare(folder: Path) -> dict[str, bytes]:
    (folder / "kept").mkdir(parents=True)
    (folder / "there").write_bytes(OLD)
    (folder / "kept" / "earlier").write_bytes(NEW)
    (folder / "record").write_bytes(OLD)
    return contents(folder)


DURABLE: dict[str, tuple[Callable[[KeptRoot], object], str, bytes]] = {
    "keep": (lambda root: root.keep("there", "kept/1"), "kept/1", OLD),
    "put_back": (lambda root: root.put_back("kept/earlier", "there"), "there", NEW),
    "overwrite": (lambda root: root.overwrite("record", NEW), "record", NEW),
    "overwrite-absent": (lambda root: root.overwrite("kept/record", NEW), "kept/record", NEW),
}
CHANGING: dict[str, Callable[[KeptRoot], object]] = {
    **{name: act for name, (act, _, _) in DURABLE.items() if not name.startswith("overwrite")},
    "claim": lambda root: root.claim("kept/token", NEW),
    "put_passing": lambda root: root.put_passing("there", NEW),
    "guarded": lambda root: root.replace("there", NEW, guard=lambda: None),
}


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("act", DURABLE)
def test_what_was_acknowledged_stands_after_a_power_loss(tmp_path: Path, act: str, loss: Loss) -> None:
    prepare(tmp_path)
    disk = LossyCalls(tmp_path, under=QUICK)
    with KeptRoot(tmp_path, calls=disk) as root:
        DURABLE[act][0](root)
    disk.power_cut(loss)
    assert contents(tmp_path)[DURABLE[act][1]] == DURABLE[act][2]


@pytest.mark.parametrize("act", ["keep", "put_back"])
def test_a_power_loss_at_any_call_leaves_old_or_new(tmp_path: Path, act: str) -> None:
    before = prepare(tmp_path / "before")
    for cut_after in range(1, 6):
        for loss in Loss:
            folder = tmp_path / f"{cut_after}-{loss.name}"
            prepare(folder)
            disk = LossyCalls(folder, cut_after=cut_after, under=QUICK)
            try:
                with KeptRoot(folder, calls=disk) as root:
                    DURABLE[act][0](root)
            except PowerCut:
                pass
            disk.power_cut(loss)
            name, new = DURABLE[act][1:]
            assert contents(folder) in (before, before | {name: new})


@pytest.mark.parametrize("act", CHANGING)
def test_a_full_disk_changes_nothing(tmp_path: Path, act: str) -> None:
    before = prepare(tmp_path / "before")
    calls = FaultyCalls()
    with KeptRoot(tmp_path / "before", calls=calls) as root:
        CHANGING[act](root)
    for at in range(1, len(calls.made) + 1):
        folder = tmp_path / str(at)
        prepare(folder)
        faulty = FaultyCalls(number=errno.ENOSPC, at=at)
        with KeptRoot(folder, calls=faulty) as root:
            if faulty_cleanup(calls.made, at):
                CHANGING[act](root)
                continue
            with pytest.raises(CountermarkError) as error:
                CHANGING[act](root)
        assert error.value.code == "disk_full"
        if calls.made[at - 1] != "fsync" or act == "guarded":
            assert contents(folder) == before
        assert list(folder.rglob(f"{TEMP_PREFIX}*")) == []


def faulty_cleanup(made: list[str], at: int) -> bool:
    """Whether the call only takes away what nothing needs any more."""
    return made[at - 1] == "unlink"


def test_a_file_with_another_name_is_copied(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "alias").hardlink_to(tmp_path / "there")
    with KeptRoot(tmp_path) as root:
        root.keep("there", "kept/1")
    (tmp_path / "alias").write_bytes(b"written through the other name")
    assert (tmp_path / "kept" / "1").read_bytes() == OLD


def test_a_disk_without_second_names_gets_a_copy(tmp_path: Path) -> None:
    prepare(tmp_path)
    with KeptRoot(tmp_path, calls=FaultyCalls(number=errno.EPERM, operation="link", always=True)) as root:
        root.keep("there", "kept/1")
        root.put_back("kept/earlier", "there")
    assert (tmp_path / "kept" / "1").read_bytes() == OLD
    assert (tmp_path / "there").read_bytes() == NEW


@pytest.mark.parametrize("act", ["keep", "claim"])
def test_a_taken_name_is_refused(tmp_path: Path, act: str) -> None:
    prepare(tmp_path)
    with KeptRoot(tmp_path) as root, pytest.raises(CountermarkError) as error:
        root.keep("there", "kept/earlier") if act == "keep" else root.claim("kept/earlier", OLD)
    assert error.value.code == "output_exists"
    assert (tmp_path / "kept" / "earlier").read_bytes() == NEW


def test_putting_back_what_stands_there_already_leaves_one_name(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "kept" / "same").hardlink_to(tmp_path / "there")
    with KeptRoot(tmp_path) as root:
        root.put_back("kept/same", "there")
    assert list(tmp_path.rglob(f"{TEMP_PREFIX}*")) == []


def test_a_guard_that_refuses_leaves_everything_as_it_was(tmp_path: Path) -> None:
    before = prepare(tmp_path)

    def refuse() -> None:
        raise CountermarkError("resource_busy", "Somebody came first.", next_action="Try again.")

    with Root(tmp_path) as root, pytest.raises(CountermarkError):
        root.replace("there", NEW, guard=refuse)
    assert contents(tmp_path) == before
    assert list(tmp_path.rglob(f"{TEMP_PREFIX}*")) == []


def test_a_folder_that_was_put_in_another_s_place_is_the_one_that_is_used(tmp_path: Path) -> None:
    prepare(tmp_path)
    with KeptRoot(tmp_path) as root:
        assert root.read("kept/earlier", cap=1000) == NEW
        (tmp_path / "kept").rename(tmp_path / "moved")
        with pytest.raises(CountermarkError) as error:
            root.read("kept/earlier", cap=1000)
        assert error.value.code == "not_found"
        (tmp_path / "kept").mkdir()
        root.claim("kept/token", OLD)
        assert (tmp_path / "kept" / "token").read_bytes() == OLD
        with root.inside("kept") as inner:
            assert inner.read("token", cap=1000) == OLD
        assert root.read("kept/token", cap=1000) == OLD


@pytest.mark.parametrize("first", [True, False])
def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path, first: bool) -> None:  # noqa: FBT001
    prepare(tmp_path)
    with KeptRoot(tmp_path) as root:
        if first:
            root.read("kept/earlier", cap=1000)
        (tmp_path / "kept").rename(tmp_path / "moved")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "kept").symlink_to("elsewhere")
        for act in (root.claim, root.overwrite):
            with pytest.raises(CountermarkError) as error:
                act("kept/token", OLD)
            assert error.value.code == "path_escape"
        (tmp_path / "link").symlink_to("there")
        with pytest.raises(CountermarkError):
            root.read("link", cap=1000)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_every_descriptor_is_given_back(tmp_path: Path) -> None:
    prepare(tmp_path)
    before = len(list(Path("/dev/fd").iterdir()))
    with KeptRoot(tmp_path) as root:
        root.read("kept/earlier", cap=1000)
        (tmp_path / "kept").rename(tmp_path / "moved")
        (tmp_path / "kept").mkdir()
        root.claim("kept/token", OLD)
    assert len(list(Path("/dev/fd").iterdir())) == before
