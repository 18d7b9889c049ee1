"""Names: the seed's alphabet, no device, and nothing beside one scene that another could take for its own."""

from __future__ import annotations

from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError, registered
from countermark.scene import name as names
from countermark.scene.codes import STATUS, SceneError, as_scene_error, as_seed, refuse


@pytest.mark.parametrize("name", ["a", "0", "architecture", "a.tmp-1", "a.1", "x_y-z", "a" * 64, "a.", "con-1"])
def test_a_name_of_the_alphabet_is_taken(name: str) -> None:
    assert names.check(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".a", "-a", "_a", "A", "a b", "a/b", "../a", "a..b", "a" * 65, "ä", "a\n", "a\0", None, 3, True, ["a"],
     "con", "nul.x", "aux", "prn.1", "com1", "lpt9.a", "a\\b"],
)  # fmt: skip
def test_anything_else_is_refused(name: Any) -> None:
    with pytest.raises(SceneError) as caught:
        names.check(name)
    assert (caught.value.code, caught.value.status) == ("invalid_name", 400)


def test_a_backup_belongs_to_the_scene_of_its_full_name() -> None:
    assert names.backup_revision("a.1", "a.1.2.excalidraw") == 2
    assert names.backup_revision("a", "a.1.2.excalidraw") is None
    assert names.backup_revision("a", "a.2.excalidraw") == 2
    for file in ("a.02.excalidraw", "a.-1.excalidraw", "a.x.excalidraw", "a.2.excalidraw.tmp", "a.²2.excalidraw"):
        assert names.backup_revision("a", file) is None


def test_what_stands_beside_two_scenes_never_has_one_name() -> None:
    scenes = ["a", "a.1", "a.0", "a.lock", "a.flock", "a.meta", "a.meta.json", "a.1.2"]
    made = [
        file
        for scene in scenes
        for file in (
            names.sidecar_file(scene),
            names.token_file(scene),
            names.lock_file(scene),
            names.intent_file(scene, 0),
            names.intent_file(scene, 1),
        )
    ]
    assert len(set(made)) == len(made)


@pytest.mark.promise("scene.tools.codes")
def test_the_fifteen_codes_are_all_registered_with_the_seed_s_status() -> None:
    assert len(STATUS) == 15
    assert set(STATUS) <= set(registered())
    error = refuse("scene_busy", "Busy.", next_action="Wait.", details={"a": 1})
    assert error.status == 423
    assert as_seed(error) == {"code": "scene_busy", "message": "Busy.", "details": {"a": 1, "next": "Wait."}}


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("path_escape", "permission_denied"),
        ("disk_full", "io_error"),
        ("disk_read_only", "io_error"),
        ("io_failed", "io_error"),
        ("input_too_large", "too_large"),
        ("budget_exhausted", "permission_denied"),
        ("grant_expired", "permission_denied"),
        ("grant_unknown", "permission_denied"),
        ("not_found", "not_found"),
    ],
)
def test_an_error_of_the_kernel_reads_in_the_seed_s_words_and_keeps_its_own(code: str, ours: str) -> None:
    error = as_scene_error(CountermarkError(code, "Said.", next_action="Do."))
    assert error.code == ours
    assert error.details.get("cause", code) == code


@pytest.mark.parametrize("code", ["ledger_busy", "ledger_broken"])
def test_trouble_with_the_ledger_is_a_scene_that_is_busy(code: str) -> None:
    error = as_scene_error(CountermarkError(code, "Said.", next_action="Do."))
    assert (error.code, error.details["reason"]) == ("scene_busy", "ledger")
