// The page's sentences about states, apart from how they look.
import type { Difference } from "./baseline.ts";
import type { Keeping } from "./keeping.ts";
import { short } from "./scene.ts";

const ACTORS: { readonly [actor: string]: string } = {
  agent: "The agent",
  ui: "Another window",
  cli: "The command line",
  import: "An import",
  restore: "A restore",
  recovery: "Another program",
};

export const actor = (by: string | null): string => (by && ACTORS[by]) || "Somebody";

/** Who wrote what stands in a list: there the page's own saves are the person's. */
export const writer = (by: string | null): string => (by === "ui" ? "You" : actor(by));

/** Whose version it is. */
export const owner = (by: string | null): string => `${actor(by)}’s`;

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** "added 3 elements, changed 1 and removed 2" */
export function did(made: Difference): string {
  const parts = [
    [made.added.length, "added"],
    [made.changed.length, "changed"],
    [made.removed.length, "removed"],
  ].filter((part): part is [number, string] => typeof part[0] === "number" && part[0] > 0);
  if (parts.length === 0) return "changed no element";
  const [first, ...rest] = parts.map(([count, verb], at) => `${verb} ${at === 0 ? plural(count, "element") : count}`);
  return rest.length === 0 ? String(first) : `${[first, ...rest.slice(0, -1)].join(", ")} and ${rest.at(-1)}`;
}

export const touched = (made: Difference): number => made.added.length + made.changed.length + made.removed.length;

export type Tone = "good" | "working" | "attention" | "bad";

export type Status = { readonly tone: Tone; readonly state: string; readonly short: string };

const said = (tone: Tone, state: string, brief = state): Status => ({ tone, state, short: brief });

/** The state line: what is true of the person's work right now. */
export function status(keeping: Keeping, connected: boolean, readOnly: boolean): Status {
  if (readOnly) return said("attention", "Read only: nothing you draw is saved", "Read only");
  switch (keeping.halt.kind) {
    case "offline":
      return said("attention", "Server not reachable: your work is kept here and sent again", "Kept here");
    case "busy":
      return said("attention", "Another program is writing this scene: trying again", "Trying again");
    case "conflict":
      return said("bad", "Not saved: the scene changed meanwhile", "Conflict");
    case "shrinks":
      return said("attention", "Not saved: waiting for your answer", "Not saved");
    case "gone":
      return said("bad", "Not saved: the scene is no longer there", "Gone");
    case "expired":
      return said("bad", "Not saved: the session has expired", "Expired");
    case "refused":
      return said("bad", "Not saved: the server refused it", "Refused");
    case "none":
  }
  if (!connected) {
    return keeping.edit.dirty
      ? said("attention", "Server not reachable: your work is kept here", "Kept here")
      : said("attention", "Server not reachable", "Offline");
  }
  if (keeping.saving) return said("working", "Saving…");
  if (keeping.seen && keeping.gesture) {
    return said("attention", `${actor(keeping.seen.by)}’s changes wait until you finish`, "Changes wait");
  }
  if (keeping.edit.dirty) return said("working", "Unsaved changes", "Unsaved");
  return said("good", "Saved");
}

export const revision = (made: { revision: number; sha256: string }): string =>
  `revision ${made.revision} · ${short(made.sha256)}`;

const UNITS = ["bytes", "KB", "MB"] as const;

export function size(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

export function when(iso: string | number | null): string {
  const at = iso === null ? Number.NaN : new Date(iso).getTime();
  if (Number.isNaN(at)) return "unknown time";
  const today = new Date().toDateString() === new Date(at).toDateString();
  return new Intl.DateTimeFormat(
    undefined,
    today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" },
  ).format(at);
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Say what is wrong with a scene's name, or nothing. */
export function misnamed(name: string): string | null {
  if (NAME.test(name) && !name.includes("..")) return null;
  if (name.length > 64) return "A name has at most 64 characters.";
  if (/[A-Z]/.test(name)) return "Small letters only.";
  return "Small letters, digits, dots, dashes and underscores; a letter or digit first; no two dots in a row.";
}
