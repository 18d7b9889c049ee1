// How a scene is kept: one pure step from a state and an event to the next state and what has to be done. It knows no
// clock, no network and no editor, so every order of events can be tried.
//
// The rules: nothing of somebody else is taken in under a hand or over unsaved work; one save at a time, made against
// the revision and digest that its content came from; a save without an answer is sent again as it was; a conflict, an
// emptying and a refusal wait for the person, and only their own word overwrites: exactly the state they were shown.
import { sameMark, type Mark } from "./scene.ts";
import { shrinks, type Edit } from "./baseline.ts";
import type { Failure } from "./wire.ts";

export type Halt =
  | { readonly kind: "none" }
  | { readonly kind: "offline"; readonly tries: number }
  | { readonly kind: "busy"; readonly tries: number }
  /** `shown` is the file's state that the person was shown; null until it was looked at. */
  | { readonly kind: "conflict"; readonly shown: Mark | null }
  | { readonly kind: "shrinks" }
  | { readonly kind: "gone"; readonly to: string | null }
  | { readonly kind: "expired" | "refused"; readonly failure: Failure };

export type Keeping = {
  /** What the page's content came from. */
  readonly base: Mark;
  /** A newer state of the file that the page has not taken in. */
  readonly seen: Mark | null;
  /** The file went away, under this other name where it is known, while a save was in flight: asked after its answer. */
  readonly removed: { readonly to: string | null } | null;
  readonly gesture: boolean;
  readonly edit: Edit;
  /** The person said yes to losing this many elements. */
  readonly agreed: number;
  readonly saving: boolean;
  readonly looking: boolean;
  /** Something happened while looking: look once more. */
  readonly again: boolean;
  /** The person chose the file's state over their own. */
  readonly yielding: boolean;
  readonly halt: Halt;
};

export type Event =
  | { readonly on: "edited"; readonly edit: Edit }
  | { readonly on: "gesture"; readonly down: boolean }
  | { readonly on: "due" }
  | { readonly on: "retry" }
  | { readonly on: "look" }
  | { readonly on: "seen"; readonly mark: Mark }
  | { readonly on: "removed"; readonly to: string | null }
  | { readonly on: "looked"; readonly mark: Mark }
  | { readonly on: "unseen"; readonly failure: Failure }
  | { readonly on: "saved"; readonly mark: Mark; readonly edit: Edit }
  | { readonly on: "failed"; readonly failure: Failure }
  | { readonly on: "chose"; readonly choice: Choice };

/** What a person can answer. There is no choice that overwrites without being named so. */
export type Choice = "reload" | "overwrite" | "merge" | "shrink" | "again" | "recreate";

export type Effect =
  | { readonly do: "arm"; readonly what: "due" | "retry" | "look"; readonly after: number }
  /** `over` is the one state of the file that this save may replace: the base, or the state shown with a conflict. */
  | { readonly do: "send"; readonly over: Mark }
  | { readonly do: "create" }
  | { readonly do: "resend" }
  | { readonly do: "look" }
  | { readonly do: "take" }
  /** Show what both versions come to, as unsaved work on the state that was shown. */
  | { readonly do: "weave" }
  /** The person's version, with what it was made from: the state that comes with this effect has another base. */
  | { readonly do: "set-aside"; readonly base: Mark }
  | { readonly do: "keep" }
  | { readonly do: "drop" };

export type Step = readonly [Keeping, readonly Effect[]];

/** Milliseconds without a change before a save; milliseconds before a first retry; its ceiling. */
export const SAVE_AFTER = 700;
const RETRY_AFTER = 1000;
const RETRY_AT_MOST = 15_000;

const NONE: Halt = { kind: "none" };
export const CLEAN: Edit = { dirty: false, before: 0, after: 0, lost: 0 };

export const begin = (base: Mark, edit: Edit = CLEAN): Keeping => ({
  base,
  seen: null,
  removed: null,
  gesture: false,
  edit,
  agreed: 0,
  saving: false,
  looking: false,
  again: false,
  yielding: false,
  halt: NONE,
});

const stays = (state: Keeping): Step => [state, []];
const arm = (what: "due" | "retry" | "look", after: number): Effect => ({ do: "arm", what, after });
const wait = (tries: number): number => Math.min(RETRY_AFTER * 2 ** tries, RETRY_AT_MOST);
const pending = (halt: Halt): halt is Extract<Halt, { tries: number }> => halt.kind === "offline" || halt.kind === "busy";

const gone = (state: Keeping): Halt => ({ kind: "gone", to: state.removed?.to ?? null });

/** Go on with what waits: somebody else's write first, then the person's. */
function settle(state: Keeping, effects: readonly Effect[] = []): Step {
  if (state.saving || state.gesture) return [state, effects];
  const known = state.halt.kind === "conflict" && state.halt.shown && state.seen && sameMark(state.halt.shown, state.seen);
  if (state.seen && !state.looking && !known && !pending(state.halt)) {
    return [{ ...state, looking: true }, [...effects, { do: "look" }]];
  }
  const free = state.edit.dirty && state.halt.kind === "none" && !state.looking;
  return [state, free ? [...effects, arm("due", SAVE_AFTER)] : effects];
}

function edited(state: Keeping, edit: Edit): Step {
  const next = { ...state, edit };
  if (!edit.dirty) {
    const answered = state.halt.kind === "conflict" || state.halt.kind === "shrinks" || state.halt.kind === "refused";
    if (!state.edit.dirty && !answered) return stays(next);
    return settle({ ...next, halt: answered ? NONE : state.halt }, [{ do: "drop" }]);
  }
  const over = state.halt.kind === "refused" || (state.halt.kind === "shrinks" && !shrinks(edit));
  return settle({ ...next, halt: over ? NONE : state.halt }, [{ do: "keep" }]);
}

function due(state: Keeping): Step {
  if (!state.edit.dirty || state.saving || state.gesture || state.looking || state.halt.kind !== "none") return stays(state);
  if (shrinks(state.edit) && state.edit.lost > state.agreed) return stays({ ...state, halt: { kind: "shrinks" } });
  return [{ ...state, saving: true, yielding: false }, [{ do: "send", over: state.base }]];
}

function seen(state: Keeping, mark: Mark): Step {
  const there: Keeping = { ...state, removed: null, halt: state.halt.kind === "gone" ? NONE : state.halt };
  if (sameMark(mark, state.base)) {
    const known = { ...there, seen: state.looking ? state.seen : null };
    return state.halt.kind === "gone" ? settle(known) : stays(known);
  }
  const next = { ...there, seen: mark };
  if (state.saving || state.gesture) return stays(next);
  if (state.looking) return stays({ ...next, again: true });
  if (pending(state.halt)) return retry(next);
  return [{ ...next, looking: true }, [{ do: "look" }]];
}

function looked(state: Keeping, mark: Mark): Step {
  // A look that was on its way before the file went, or before the save's answer, does not say that it is there.
  const removed = state.saving || state.again ? state.removed : null;
  const next: Keeping = { ...state, removed, looking: false, again: false };
  if (state.again) return [{ ...next, looking: true }, [{ do: "look" }]];
  if (state.yielding) return [{ ...begin(mark), gesture: state.gesture }, [{ do: "set-aside", base: state.base }, { do: "take" }]];
  if (mark.sha256 === state.base.sha256) {
    return settle({ ...next, base: mark, seen: null, halt: state.halt.kind === "conflict" ? NONE : state.halt });
  }
  const other = { ...next, seen: mark };
  if (state.saving) return stays(other);
  if (state.edit.dirty) return [pending(state.halt) ? other : { ...other, halt: { kind: "conflict", shown: mark } }, [{ do: "keep" }]];
  if (state.gesture) return stays(other);
  return [{ ...next, base: mark, seen: null, agreed: 0, halt: NONE }, [{ do: "take" }]];
}

function unseen(state: Keeping, failure: Failure): Step {
  const next = { ...state, looking: false, again: false, yielding: false };
  switch (failure.kind) {
    case "offline":
    case "busy":
      return [next, [arm("look", wait(2))]];
    case "missing":
      if (state.saving) return stays({ ...next, removed: state.removed ?? { to: null } });
      return stays({ ...next, removed: null, halt: state.halt.kind === "gone" ? state.halt : gone(state) });
    case "expired":
      return stays({ ...next, halt: { kind: "expired", failure } });
    default:
      return stays({ ...next, halt: { kind: "refused", failure } });
  }
}

function saved(state: Keeping, mark: Mark, edit: Edit): Step {
  // By digest alone: a scene that was trashed and made again counts its revisions from one.
  const overtaken = state.seen && state.seen.sha256 !== mark.sha256 ? state.seen : null;
  const next: Keeping = { ...state, base: mark, seen: overtaken, edit, agreed: 0, saving: false, halt: NONE };
  const kept: Effect = { do: edit.dirty ? "keep" : "drop" };
  if (!state.removed) return settle(next, [kept]);
  return state.looking ? [{ ...next, again: true }, [kept]] : [{ ...next, looking: true }, [kept, { do: "look" }]];
}

function failed(state: Keeping, failure: Failure): Step {
  const next = { ...state, saving: false };
  const tries = pending(state.halt) ? state.halt.tries + 1 : 0;
  switch (failure.kind) {
    case "offline":
      return [{ ...next, halt: { kind: "offline", tries } }, [{ do: "keep" }, arm("retry", wait(tries))]];
    case "busy":
      return [{ ...next, halt: { kind: "busy", tries } }, [{ do: "keep" }, arm("retry", wait(tries))]];
    case "conflict":
      return [{ ...next, halt: { kind: "conflict", shown: null }, looking: true, again: state.looking }, state.looking ? [{ do: "keep" }] : [{ do: "keep" }, { do: "look" }]];
    case "missing":
      return [{ ...next, removed: null, halt: gone(state) }, [{ do: "keep" }]];
    case "expired":
      return [{ ...next, halt: { kind: "expired", failure } }, [{ do: "keep" }]];
    default:
      return [{ ...next, halt: { kind: "refused", failure } }, [{ do: "keep" }]];
  }
}

function retry(state: Keeping): Step {
  if (state.saving || !pending(state.halt)) return stays(state);
  return [{ ...state, saving: true, yielding: false }, [{ do: "resend" }]];
}

function chose(state: Keeping, choice: Choice): Step {
  if (state.saving) return stays(state);
  const at = state.halt.kind;
  switch (choice) {
    case "reload": {
      if (at !== "conflict") return stays(state);
      return [{ ...state, yielding: true, looking: true, again: state.looking }, state.looking ? [] : [{ do: "look" }]];
    }
    case "overwrite": {
      if (state.halt.kind !== "conflict" || !state.halt.shown || state.looking) return stays(state);
      return [{ ...state, saving: true, yielding: false, seen: null }, [{ do: "send", over: state.halt.shown }]];
    }
    case "merge": {
      if (state.halt.kind !== "conflict" || !state.halt.shown || state.looking || state.gesture) return stays(state);
      return [{ ...state, base: state.halt.shown, seen: null, agreed: 0, yielding: false, halt: NONE }, [{ do: "weave" }]];
    }
    case "shrink": {
      if (at !== "shrinks") return stays(state);
      return due({ ...state, halt: NONE, agreed: state.edit.lost });
    }
    case "recreate": {
      if (at !== "gone") return stays(state);
      return [{ ...state, saving: true, yielding: false }, [{ do: "create" }]];
    }
    case "again": {
      if (pending(state.halt)) return retry(state);
      if (at !== "refused" && at !== "expired") return stays(state);
      if (!state.edit.dirty) return [{ ...state, halt: NONE, looking: true }, [{ do: "look" }]];
      return due({ ...state, halt: NONE });
    }
  }
}

/** The one step. */
export function step(state: Keeping, event: Event): Step {
  switch (event.on) {
    case "edited":
      return edited(state, event.edit);
    case "gesture":
      return event.down ? stays({ ...state, gesture: true }) : settle({ ...state, gesture: false });
    case "due":
      return due(state);
    case "retry":
      return retry(state);
    case "look":
      return state.saving || state.looking ? stays(state) : [{ ...state, looking: true }, [{ do: "look" }]];
    case "seen":
      return seen(state, event.mark);
    case "removed":
      return state.saving ? stays({ ...state, removed: { to: event.to } }) : stays({ ...state, halt: { kind: "gone", to: event.to } });
    case "looked":
      return looked(state, event.mark);
    case "unseen":
      return unseen(state, event.failure);
    case "saved":
      return saved(state, event.mark, event.edit);
    case "failed":
      return failed(state, event.failure);
    case "chose":
      return chose(state, event.choice);
  }
}
