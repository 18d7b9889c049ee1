// What the person really changed. The editor's loader drops unknown types and shapes without size, rewrites fields
// without raising a version and raises the version of every element without an order key. So an element counts as
// unchanged when version and nonce are those it had right after loading; it goes back as the file had it, and so does
// whatever the loader left out.
import type { Document, Live, Raw } from "./scene.ts";

/** App state that belongs to the file; everything else is the person's view of it. */
export const KEPT = ["viewBackgroundColor", "gridSize", "gridModeEnabled"] as const;

export type Settings = { readonly [key in (typeof KEPT)[number]]?: unknown };

export type Baseline = {
  /** What the editor was loaded with. */
  readonly base: Document;
  /** Not on disk yet: a draft that was brought back. */
  readonly ahead: boolean;
  /** The live elements of the file, by the editor's ids. */
  readonly stored: ReadonlySet<string>;
  /** By the id that the editor knows: the place in the base, and the stamp right after loading. */
  readonly loaded: ReadonlyMap<string, { readonly at: number; readonly stamp: string }>;
  readonly settings: Settings;
};

export type Edit = { readonly dirty: boolean; readonly before: number; readonly after: number; readonly lost: number };

export type Composed = {
  readonly document: Document;
  /** The baseline that holds once the server has this document. */
  readonly next: Baseline;
};

const live = (element: Raw | undefined): boolean => element !== undefined && element.isDeleted !== true;

export const stamp = (element: Live): string => `${element.version}:${element.versionNonce}`;

export const settings = (state: Settings): Settings =>
  Object.fromEntries(KEPT.map((key) => [key, state[key]])) as Settings;

/**
 * Match the editor's elements with the base's, both in file order. The loader only drops and renames: the second
 * element of one id gets a new id, and stands where the old one stood. `file` is named where the base is a draft that
 * the file does not hold.
 */
export function baseline(base: Document, elements: readonly Live[], state: Settings, file?: Document): Baseline {
  const known = new Set(base.elements.map((element) => element.id));
  const seen = new Set<unknown>();
  const loaded = new Map<string, { at: number; stamp: string }>();
  let next = 0;
  base.elements.forEach((element, at) => {
    const candidate = elements[next];
    const renamed = candidate !== undefined && seen.has(element.id) && !known.has(candidate.id);
    seen.add(element.id);
    if (candidate === undefined || !(candidate.id === String(element.id) || renamed)) return;
    loaded.set(candidate.id, { at, stamp: stamp(candidate) });
    next += 1;
  });
  const stored = file
    ? new Set(file.elements.filter(live).map((element) => String(element.id)))
    : new Set([...loaded].filter(([, { at }]) => live(base.elements[at])).map(([id]) => id));
  return { base, loaded, stored, settings: settings(state), ahead: file !== undefined };
}

const changed = (line: Baseline, element: Live): boolean => {
  const loaded = line.loaded.get(element.id);
  // Drawn and removed again before any save: it never was in the file.
  return loaded ? loaded.stamp !== stamp(element) : !element.isDeleted;
};

const settingsDiffer = (line: Baseline, state: Settings): boolean =>
  KEPT.some((key) => line.settings[key] !== state[key]);

/** Say whether there is something to save, and how many of the file's live elements it would lose. */
export function edit(line: Baseline, elements: readonly Live[], state: Settings): Edit {
  let dirty = line.ahead || settingsDiffer(line, state);
  let after = 0;
  let kept = 0;
  let met = 0;
  for (const element of elements) {
    if (line.loaded.has(element.id)) met += 1;
    if (!element.isDeleted) {
      after += 1;
      if (line.stored.has(element.id)) kept += 1;
    }
    if (!dirty && changed(line, element)) dirty = true;
  }
  const before = line.stored.size;
  return { dirty: dirty || met < line.loaded.size, before, after, lost: before - kept };
}

/** A save that empties the scene or loses over half of it is asked about first. */
export const shrinks = (made: Edit): boolean => made.before > 0 && (made.after === 0 || made.lost * 2 > made.before);

/** Make the document to save: unchanged elements as the file had them, what the loader dropped after its neighbour. */
export function compose(
  line: Baseline,
  elements: readonly Live[],
  state: Settings,
  files: { readonly [id: string]: Raw },
): Composed {
  const base = line.base.elements;
  const taken = new Set([...line.loaded.values()].map(({ at }) => at));
  const dropped = new Map<number, Raw[]>();
  let anchor = -1;
  base.forEach((element, at) => {
    if (taken.has(at)) anchor = at;
    else dropped.set(anchor, [...(dropped.get(anchor) ?? []), element]);
  });
  const out: Raw[] = [...(dropped.get(-1) ?? [])];
  dropped.delete(-1);
  const loaded = new Map<string, { at: number; stamp: string }>();
  for (const element of elements) {
    const was = line.loaded.get(element.id);
    if (!was && element.isDeleted) continue;
    const kept = was && was.stamp === stamp(element) ? base[was.at] : undefined;
    loaded.set(element.id, { at: out.length, stamp: stamp(element) });
    out.push(kept ?? (structuredClone(element) as unknown as Raw));
    if (was) {
      out.push(...(dropped.get(was.at) ?? []));
      dropped.delete(was.at);
    }
  }
  for (const rest of dropped.values()) out.push(...rest);

  const now = settings(state);
  const different = KEPT.filter((key) => line.settings[key] !== now[key]);
  const appState = { ...line.base.appState, ...Object.fromEntries(different.map((key) => [key, now[key]])) };
  const used = new Set(out.map((element) => element.fileId).filter((id) => typeof id === "string"));
  const fresh = Object.entries(files).filter(([id]) => used.has(id) && !(id in line.base.files));
  const document = { elements: out, appState, files: { ...line.base.files, ...Object.fromEntries(fresh) } };
  const stored = new Set(elements.filter((element) => !element.isDeleted).map((element) => element.id));
  return { document, next: { base: document, loaded, stored, settings: now, ahead: false } };
}

export type Difference = {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
};

/** Compare two documents element by element, as a reader of the picture would count: a tombstone is not there. */
export function difference(before: Document, after: Document): Difference {
  const there = (made: Document) =>
    new Map(made.elements.filter(live).map((element) => [String(element.id), JSON.stringify(element)]));
  const [old, now] = [there(before), there(after)];
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    changed: [...now.keys()].filter((id) => old.has(id) && old.get(id) !== now.get(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
  };
}
