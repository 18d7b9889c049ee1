"""Trials with real processes, in memory where the system offers a folder of it: a kill does not ask what is synced."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.testkit.crash import Trial, Victims
from countermark.testkit.witness import Witness


@pytest.fixture(name="victims", scope="session")
def make_victims() -> Iterator[Victims]:
    with Victims() as started:
        yield started


@pytest.fixture(name="fast_folder", scope="session")
def make_fast_folder() -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    made = Path(tempfile.mkdtemp(prefix="cm-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


@pytest.fixture(name="witness", scope="session")
def make_witness(fast_folder: Path) -> Iterator[Witness]:
    with Witness(fast_folder) as started:
        yield started


@pytest.fixture(name="template", scope="session")
def make_template(fast_folder: Path, witness: Witness, victims: Victims) -> Path:
    """Prepare one workspace that every trial copies."""
    Trial(fast_folder / "template", witness.socket, witness.file, victims).prepare()
    return fast_folder / "template"


@pytest.fixture(name="trial")
def make_trial(fast_folder: Path, template: Path, victims: Victims) -> Iterator[Trial]:
    place = Path(tempfile.mkdtemp(dir=fast_folder))
    with Witness(place) as own:
        made = Trial(place / "trial", own.socket, own.file, victims)
        made.prepare(template)
        yield made
    shutil.rmtree(place)
