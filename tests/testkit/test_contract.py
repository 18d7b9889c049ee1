"""The adapter contract, run for the scripted domain in every way it works, and shown to find defects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from countermark.kernel.adapter import Context, Estimate, Finding, Intent, Outcome, Verification
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from countermark.testkit.contract import KEY, AdapterContract


class TestStaged(AdapterContract):
    """A file is made."""

    def adapter(self, world: Path) -> ScriptedAdapter:
        return ScriptedAdapter(World(world))

    def plan(self, workspace: Workspace) -> Plan:
        return Plan("scripted", "test.staged", "write", ("file:doc.txt",), {"text": "contract"})

    def count(self, folder: Path, key: str) -> int:
        place = folder / "space/doc.txt"
        return int(place.exists() and place.read_text() == "contract")


class TestStagedFolder(TestStaged):
    """A folder is made by a child."""

    def plan(self, workspace: Workspace) -> Plan:
        payload = {"text": "contract", "folder": True, "child": True}
        return Plan("scripted", "test.staged", "write", ("file:kit",), payload)

    def count(self, folder: Path, key: str) -> int:
        names = ("a.txt", "sub/b.txt")
        return int(all((folder / "space/kit" / name).exists() for name in names))


class TestDirect(AdapterContract):
    """The world outside is changed, and may be asked again."""

    effect_class = EffectClass.IDEMPOTENT_WRITE

    def adapter(self, world: Path) -> ScriptedAdapter:
        return ScriptedAdapter(World(world), effect_class=self.effect_class)

    def plan(self, workspace: Workspace) -> Plan:
        return Plan("scripted", "test.direct", "change", ("world:a",), {"n": 1})

    def count(self, folder: Path, key: str) -> int:
        return World(folder / "world").lines("world:a").count(key)


class TestDirectOnce(TestDirect):
    """The world outside is changed, and may never be asked again without a person."""

    effect_class = EffectClass.NON_IDEMPOTENT


class Blind(ScriptedAdapter):
    """Says that it did not happen, without looking: the retry is a second effect."""

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        return Finding(Executed.NO, {"looked": "no"})


class Forgetful(ScriptedAdapter):
    """Knows what happened only as long as it lives."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.done: list[str] = []

    def submit(self, intent: Intent, context: Context) -> Outcome:
        self.done.append(intent.key)
        return super().submit(intent, context)

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        if intent.key not in self.done:
            return Finding(Executed.UNKNOWN)
        return super().reconcile(intent, context)


class Hasty(ScriptedAdapter):
    """Does not look at its resource before it changes it."""

    def submit(self, intent: Intent, context: Context) -> Outcome:
        for resource in intent.plan.resources:
            self.world.change(resource, intent.key)
        return Outcome(revisions=self._revisions(intent.plan))


class Untidy(ScriptedAdapter):
    """Writes beside its stage."""

    def submit(self, intent: Intent, context: Context) -> Outcome:
        (context.workspace / "log.txt").write_text("working")
        return super().submit(intent, context)


class Vain(ScriptedAdapter):
    """Looks at its own work."""

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        seen = super().verify(intent, outcome, context)
        from dataclasses import replace  # noqa: PLC0415 - here alone

        return Verification(tuple(replace(verdict, observer=verdict.maker) for verdict in seen.verdicts))


class Cheap(ScriptedAdapter):
    """Says that it will use nothing."""

    def estimate(self, plan: Plan) -> Estimate:
        return Estimate()


class Meddling(ScriptedAdapter):
    """Has an effect while it only looks at a plan."""

    def validate(self, plan: Plan) -> None:
        self.world.change("world:a", "validated")


DEFECTS: list[tuple[type[ScriptedAdapter], type[AdapterContract], Callable[[AdapterContract], None]]] = [
    (Blind, TestDirect, lambda suite: suite.test_the_laws_hold("submit", "lost")),
    (Forgetful, TestDirect, lambda suite: suite.test_looking_gets_identity_and_intent_and_no_ledger()),
    (Hasty, TestDirect, lambda suite: suite.test_a_direct_effect_looks_at_its_resource_last_of_all()),
    (Untidy, TestStaged, lambda s: s.test_nothing_but_its_stage_and_its_world_is_written_before_it_is_published()),
    (Vain, TestStaged, lambda suite: suite.test_the_laws_hold("submit", "twice")),
    (Cheap, TestStaged, lambda suite: suite.test_it_uses_no_more_than_it_estimated()),
    (Meddling, TestDirect, lambda suite: suite.test_validating_and_estimating_touch_nothing()),
]


@pytest.mark.parametrize(("defective", "suite", "case"), DEFECTS, ids=[one[0].__name__ for one in DEFECTS])
def test_a_defective_adapter_is_found_out(
    defective: type[ScriptedAdapter], suite: type[AdapterContract], case: Callable[[AdapterContract], None]
) -> None:
    class Defective(suite):  # type: ignore[misc,valid-type]
        def adapter(self, world: Path) -> ScriptedAdapter:
            return defective(World(world))

    running = Defective()
    running.setup_method()
    try:
        with pytest.raises(AssertionError):
            case(running)
    finally:
        running.teardown_method()


def test_every_kind_of_effect_of_the_scripted_domain_is_run() -> None:
    kinds = {effect.kind for effect in ScriptedAdapter(World(Path())).effects().values()}
    assert kinds == {EffectKind.STAGED, EffectKind.DIRECT}
    assert KEY
