"""A workspace with the scripted adapter, for the tests of the kernel's steps."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel import grant, publish
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.perform import Performed
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World


class Bench:
    """One workspace, its world, and short ways to ask it for something."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "world").mkdir()
        self.world = World(folder / "world")
        self.adapter = ScriptedAdapter(self.world)
        self.space = Workspace.create(folder / "space", adapters=[self.adapter])
        self.grant("test")

    def grant(self, name: str, parent: str | None = None, **terms: Any) -> grant.Grant:
        """Issue a grant over everything the scripted adapter does, or what `terms` say."""
        whole = {"effects": ("test",), "resources": ("",)} | terms

        def issue(tx: Tx) -> grant.Grant:
            return grant.issue(tx, grant.Grant(name, parent, (), "test", "test", grant.Terms(**whole), tx.now))

        return self.space.ledger.apply(issue)

    def adapt(self, effect_class: EffectClass, *, reversible: bool = True) -> None:
        """Make the scripted effects behave as another class."""
        script = self.adapter.script
        self.adapter = ScriptedAdapter(self.world, script, effect_class=effect_class, reversible=reversible)
        self.space._adapters["scripted"] = self.adapter  # noqa: SLF001 - the domain is the test's to choose

    def perform(
        self,
        word: str = "test.staged",
        resource: str = "file:doc.txt",
        *,
        key: str | None = None,
        revision: str | None = None,
        grant: str = "test",
        payload: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Performed:
        """Perform one scripted effect against what is there now, or against `revision`."""
        plan = Plan("scripted", word, word, (resource,), dict(payload or {"text": "hello"}), **more)
        return self.space.perform(plan, grant=grant, revision=revision or self.seen(resource), key=key)

    def seen(self, resource: str) -> str:
        """Return the revision of what is there now."""
        token = self.adapter.observe(resource)
        return token if token is not None else publish.observe(self.space, resource)

    def kinds(self, task_id: str) -> list[str]:
        """Return the kinds of a task's events, in order."""
        return [event.kind for event in self.space.ledger.events(task=task_id)]

    def read(self, name: str) -> str:
        """Return the text of a file of the workspace."""
        return (self.folder / "space" / name).read_text("utf-8")

    def write(self, name: str, text: str) -> None:
        """Be the person who edits a file of the workspace."""
        (self.folder / "space" / name).write_text(text, "utf-8")


@pytest.fixture(name="tmp_path")
def make_tmp_path() -> Iterator[Path]:
    """Give a folder where the system keeps temporary files: what the kernel claims, it claims of a disk."""
    with tempfile.TemporaryDirectory(prefix="cm-") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.space.close()


@pytest.fixture
def failing(bench: Bench) -> Callable[..., str]:
    """Perform something that must be refused or fail, and return its code."""

    def attempt(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(CountermarkError) as caught:
            bench.perform(*args, **kwargs)
        return caught.value.code

    return attempt
