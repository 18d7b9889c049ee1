import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, step, type Effect, type Event, type Keeping } from "../src/keeping.ts";
import type { Mark } from "../src/scene.ts";
import type { Failure, Kind } from "../src/wire.ts";

const mark = (revision: number, by: string | null = "agent"): Mark => ({ revision, sha256: `${revision}`.padStart(64, "0"), by });
const dirty = { dirty: true, before: 4, after: 4, lost: 0 };
const clean = { ...dirty, dirty: false };
const failure = (kind: Kind): Failure => ({ kind, code: kind, message: kind, next: null, details: {} });

/** Play events; return the last state and every effect. */
function play(events: readonly Event[], from: Keeping = begin(mark(1))): { state: Keeping; effects: Effect[]; last: readonly Effect[] } {
  let state = from;
  let last: readonly Effect[] = [];
  const effects: Effect[] = [];
  for (const event of events) {
    [state, last] = step(state, event);
    effects.push(...last);
  }
  return { state, effects, last };
}

const does = (effects: readonly Effect[], what: Effect["do"]): boolean => effects.some((effect) => effect.do === what);

test("a clean page takes in what somebody else saved", () => {
  const { state, effects } = play([{ on: "seen", mark: mark(2) }, { on: "looked", mark: mark(2) }]);
  assert.ok(does(effects, "take"));
  assert.equal(state.base.revision, 2);
});

test("nothing is taken in under a hand, and everything that waited is looked at when it lifts", () => {
  const held = play([{ on: "gesture", down: true }, { on: "seen", mark: mark(2) }, { on: "seen", mark: mark(3) }]);
  assert.deepEqual(held.effects, []);
  const lifted = play([{ on: "gesture", down: false }, { on: "looked", mark: mark(3) }], held.state);
  assert.equal(lifted.effects.filter((effect) => effect.do === "take").length, 1);
  assert.equal(lifted.state.base.revision, 3);
});

test("a look that ends under a new hand waits again", () => {
  const { effects, state } = play([{ on: "seen", mark: mark(2) }, { on: "gesture", down: true }, { on: "looked", mark: mark(2) }]);
  assert.ok(!does(effects, "take"));
  assert.equal(state.base.revision, 1);
});

test("unsaved work and a newer file are a conflict; no timer saves over it", () => {
  const { state } = play([{ on: "edited", edit: dirty }, { on: "seen", mark: mark(2) }, { on: "looked", mark: mark(2) }]);
  assert.equal(state.halt.kind, "conflict");
  const later = play([{ on: "due" }, { on: "edited", edit: { ...dirty, after: 5 } }, { on: "due" }, { on: "retry" }], state);
  assert.ok(!does(later.effects, "send"));
  assert.ok(!does(later.effects, "resend"));
});

test("the fence's answer is a conflict too, and only the word overwrite forces", () => {
  const { state } = play([
    { on: "edited", edit: dirty },
    { on: "due" },
    { on: "failed", failure: failure("conflict") },
    { on: "looked", mark: mark(5) },
  ]);
  for (const choice of ["again", "shrink", "recreate"] as const) {
    assert.deepEqual(play([{ on: "chose", choice }], state).effects, []);
  }
  const forced = play([{ on: "chose", choice: "overwrite" }], state);
  assert.deepEqual(forced.effects, [{ do: "send", over: mark(5) }]);
});

test("a merge stands on the state that was shown, and its save goes over that alone", () => {
  const { state } = play([{ on: "edited", edit: dirty }, { on: "seen", mark: mark(2) }, { on: "looked", mark: mark(2) }]);
  assert.deepEqual(play([{ on: "gesture", down: true }, { on: "chose", choice: "merge" }], state).last, []);
  const merged = play([{ on: "chose", choice: "merge" }], state);
  assert.deepEqual(merged.last, [{ do: "weave" }]);
  assert.deepEqual(play([{ on: "edited", edit: dirty }, { on: "due" }], merged.state).last, [{ do: "send", over: mark(2) }]);
});

test("overwriting goes over the state that was shown: news under a hand is shown first", () => {
  const { state } = play([{ on: "edited", edit: dirty }, { on: "seen", mark: mark(2) }, { on: "looked", mark: mark(2) }]);
  const held = play([{ on: "gesture", down: true }, { on: "seen", mark: mark(3) }], state);
  assert.deepEqual(held.effects, []);
  const lifted = play([{ on: "gesture", down: false }], held.state);
  assert.deepEqual(lifted.effects, [{ do: "look" }]);
  assert.deepEqual(play([{ on: "chose", choice: "overwrite" }], lifted.state).effects, []);
  const shown = play([{ on: "looked", mark: mark(3) }, { on: "chose", choice: "overwrite" }], lifted.state);
  assert.deepEqual(shown.last, [{ do: "send", over: mark(3) }]);
});

test("an overwriting that got no answer and meets another revision is a question again", () => {
  const { state, effects } = play([
    { on: "edited", edit: dirty },
    { on: "seen", mark: mark(2) },
    { on: "looked", mark: mark(2) },
    { on: "chose", choice: "overwrite" },
    { on: "failed", failure: failure("offline") },
    { on: "seen", mark: mark(3) },
    { on: "failed", failure: failure("conflict") },
    { on: "looked", mark: mark(3) },
    { on: "due" },
  ]);
  assert.deepEqual(state.halt, { kind: "conflict", shown: mark(3) });
  assert.equal(effects.filter((effect) => effect.do === "send").length, 1);
  assert.equal(effects.filter((effect) => effect.do === "resend").length, 1);
});

test("a scene that goes while its save is in flight is gone after the answer, whatever the answer is", () => {
  const flying: readonly Event[] = [{ on: "edited", edit: dirty }, { on: "due" }, { on: "removed", to: "design" }];
  const missing = play([...flying, { on: "failed", failure: failure("missing") }]);
  assert.deepEqual(missing.state.halt, { kind: "gone", to: "design" });
  const landed = play([...flying, { on: "saved", mark: mark(2), edit: clean }]);
  assert.ok(does(landed.last, "look"));
  const looked = play([{ on: "unseen", failure: failure("missing") }], landed.state);
  assert.deepEqual(looked.state.halt, { kind: "gone", to: "design" });
  assert.equal(play([{ on: "looked", mark: mark(2) }], landed.state).state.halt.kind, "none");
});

test("a look that was on its way before the scene went does not say that it is there", () => {
  const flying = play([{ on: "edited", edit: dirty }, { on: "due" }]).state;
  const { last } = play([{ on: "removed", to: null }, { on: "looked", mark: mark(1) }, { on: "saved", mark: mark(2), edit: clean }], { ...flying, looking: true });
  assert.ok(does(last, "look"));
});

test("a scene that was trashed and made again counts from one: the lower revision is looked at", () => {
  const made = { ...mark(1), sha256: "f".repeat(64) };
  const { last } = play([{ on: "edited", edit: dirty }, { on: "due" }, { on: "seen", mark: made }, { on: "saved", mark: mark(4), edit: clean }], begin(mark(3)));
  assert.ok(does(last, "look"));
});

test("a scene that comes back as it was is no longer gone", () => {
  const { state } = play([{ on: "removed", to: null }, { on: "seen", mark: mark(1) }]);
  assert.equal(state.halt.kind, "none");
});

test("reload sets the person's version aside with what it was made from", () => {
  const { effects, state } = play([
    { on: "edited", edit: dirty },
    { on: "seen", mark: mark(2) },
    { on: "looked", mark: mark(2) },
    { on: "chose", choice: "reload" },
    { on: "looked", mark: mark(2) },
  ]);
  assert.deepEqual(effects.slice(-2), [{ do: "set-aside", base: mark(1) }, { do: "take" }]);
  assert.equal(state.edit.dirty, false);
});

test("one save is in flight, and what was drawn meanwhile follows it", () => {
  const flying = play([{ on: "edited", edit: dirty }, { on: "due" }, { on: "edited", edit: { ...dirty, after: 6 } }, { on: "due" }]);
  assert.equal(flying.effects.filter((effect) => effect.do === "send").length, 1);
  const landed = play([{ on: "saved", mark: mark(2), edit: dirty }, { on: "due" }], flying.state);
  assert.deepEqual(landed.last, [{ do: "send", over: mark(2) }]);
});

test("a new revision of the same bytes is no conflict and nothing to take in, and the next save stands on it", () => {
  const same = { ...mark(2), sha256: mark(1).sha256 };
  const { state, effects } = play([{ on: "edited", edit: dirty }, { on: "seen", mark: same }, { on: "looked", mark: same }, { on: "due" }]);
  assert.ok(!does(effects, "take"));
  assert.deepEqual(effects.at(-1), { do: "send", over: same });
  assert.equal(state.halt.kind, "none");
});

test("the event of one's own save is no news, before the answer or after it", () => {
  const before = play([{ on: "edited", edit: dirty }, { on: "due" }, { on: "seen", mark: mark(2) }, { on: "saved", mark: mark(2), edit: clean }]);
  assert.ok(!does(before.effects, "look"));
  assert.ok(!does(play([{ on: "seen", mark: mark(2) }], before.state).effects, "look"));
});

test("a write that overtook the save is looked at after it", () => {
  const { last } = play([{ on: "edited", edit: dirty }, { on: "due" }, { on: "seen", mark: mark(3) }, { on: "saved", mark: mark(2), edit: clean }]);
  assert.ok(does(last, "look"));
});

test("silence is answered by the same save again, later each time, and never by a new one", () => {
  let { state } = play([{ on: "edited", edit: dirty }, { on: "due" }]);
  const waits: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const silent = play([{ on: "failed", failure: failure("offline") }, { on: "edited", edit: dirty }, { on: "due" }], state);
    assert.ok(!does(silent.effects, "send"));
    for (const effect of silent.effects) if (effect.do === "arm" && effect.what === "retry") waits.push(effect.after);
    const again = play([{ on: "retry" }], silent.state);
    assert.deepEqual(again.effects, [{ do: "resend" }]);
    state = again.state;
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 15000, 15000]);
});

test("news during silence sends the waiting save first: it may be its own", () => {
  const { last } = play([{ on: "edited", edit: dirty }, { on: "due" }, { on: "failed", failure: failure("offline") }, { on: "seen", mark: mark(2) }]);
  assert.deepEqual(last, [{ do: "resend" }]);
});

test("a save that loses over half waits for a yes, and the yes holds for that loss alone", () => {
  const loss = { dirty: true, before: 4, after: 1, lost: 3 };
  const asked = play([{ on: "edited", edit: loss }, { on: "due" }]);
  assert.equal(asked.state.halt.kind, "shrinks");
  assert.ok(!does(asked.effects, "send"));
  const said = play([{ on: "chose", choice: "shrink" }], asked.state);
  assert.ok(does(said.effects, "send"));
  const more = play([{ on: "failed", failure: failure("refused") }, { on: "edited", edit: { ...loss, after: 0, lost: 4 } }, { on: "due" }], said.state);
  assert.equal(more.state.halt.kind, "shrinks");
});

test("exactly half is no question; an emptied scene is one", () => {
  assert.ok(does(play([{ on: "edited", edit: { dirty: true, before: 4, after: 2, lost: 2 } }, { on: "due" }]).effects, "send"));
  assert.ok(!does(play([{ on: "edited", edit: { dirty: true, before: 1, after: 0, lost: 1 } }, { on: "due" }]).effects, "send"));
});

test("in any order of events: one save at a time, no take over unsaved work or under a hand, nothing overwritten but what was shown", () => {
  // A small generator of its own, so that a failure names its seed and replays.
  const kinds: readonly Kind[] = ["offline", "busy", "conflict", "expired", "denied", "missing", "corrupt", "refused"];
  for (let seed = 1; seed <= 3000; seed += 1) {
    let value = seed;
    const below = (count: number): number => {
      value = (value * 48271) % 2147483647;
      return value % count;
    };
    let state = begin(mark(1));
    let flying = 0;
    let yielded = false;
    let shown: Mark | null = null;
    for (let at = 0; at < 40; at += 1) {
      const revision = 1 + below(6);
      const edit = below(2) ? dirty : clean;
      const fail = { failure: failure(kinds[below(kinds.length)] as Kind) };
      const saves: Event[] = state.saving ? [{ on: "saved", mark: mark(revision), edit }, { on: "failed", ...fail }] : [];
      const looks: Event[] = state.looking ? [{ on: "looked", mark: mark(revision) }, { on: "unseen", ...fail }] : [];
      const events: Event[] = [
        { on: "edited", edit },
        { on: "gesture", down: below(2) === 0 },
        { on: "due" },
        { on: "retry" },
        { on: "look" },
        { on: "seen", mark: mark(revision) },
        { on: "removed", to: null },
        { on: "chose", choice: (["reload", "overwrite", "merge", "shrink", "again", "recreate"] as const)[below(6)] ?? "again" },
        ...saves,
        ...looks,
      ];
      const event = events[below(events.length)] as Event;
      if (event.on === "saved" || event.on === "failed") flying -= 1;
      if (event.on === "chose" && event.choice === "reload" && state.halt.kind === "conflict") yielded = true;
      const before = state;
      if (event.on === "looked") shown = event.mark;
      const [next, effects] = step(state, event);
      const place = `seed ${seed}, step ${at}, ${JSON.stringify(event)}`;
      flying += effects.filter((effect) => ["send", "resend", "create"].includes(effect.do)).length;
      assert.ok(flying <= 1, place);
      assert.equal(next.saving, flying === 1, place);
      if (does(effects, "take")) {
        assert.ok(yielded || (!before.edit.dirty && !before.gesture), place);
        assert.ok(!before.edit.dirty || does(effects, "set-aside"), place);
        yielded = false;
      }
      if (event.on === "unseen") yielded = false;
      for (const effect of effects) {
        if (effect.do !== "send" || effect.over === before.base) continue;
        assert.ok(event.on === "chose" && event.choice === "overwrite" && effect.over === shown, place);
      }
      state = next;
    }
  }
});
