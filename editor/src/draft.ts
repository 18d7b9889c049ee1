// What is not saved yet lies in the browser's own database, so that a closed, killed or reloaded page loses nothing.
import { run } from "./database.ts";
import type { Document, Mark, Raw } from "./scene.ts";

export type Draft = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly at: number;
  /** What the work was made from. */
  readonly base: Mark;
  readonly document: Document;
  /** A save that got no answer: sent again as it was, it cannot happen twice, and over no state but the one it names. */
  readonly pending: Pending | null;
  /** The person took the file's state instead; this one is only offered back. */
  readonly aside: boolean;
};

export type Pending = { readonly body: string; readonly from: string };

/** Whether a kept save may be sent again: one that would go over whatever stands there may not, however it came here. */
export function resendable(pending: Pending | null): pending is Pending {
  return pending !== null && typeof pending.from === "string" && !("force" in (JSON.parse(pending.body) as Raw));
}

export const keep = async (draft: Draft): Promise<void> => void (await run("drafts", "readwrite", (store) => store.put(draft)));

export const drop = async (id: string): Promise<void> => void (await run("drafts", "readwrite", (store) => store.delete(id)));

/** Drafts of this scene whose page is gone, newest first. */
export async function left(folder: string, name: string): Promise<Draft[]> {
  const held = new Set((await navigator.locks.query()).held?.map((lock) => lock.name));
  const all = await run<Draft[]>("drafts", "readonly", (store) => store.getAll());
  return all
    .filter((draft) => draft.folder === folder && draft.name === name && (draft.aside || !held.has(lock(draft.id))))
    .sort((one, other) => other.at - one.at);
}

const lock = (id: string): string => `countermark-page-${id}`;

/** An id for this page's draft; while the page lives, no other page offers that draft. */
export function claim(): { id: string; release: () => void } {
  const id = crypto.randomUUID();
  let release: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  navigator.locks.request(lock(id), () => over).catch(() => undefined);
  return { id, release };
}

type Files = { readonly [id: string]: Raw };

/** The files that an element refers to, a tombstone's too: what a document needs to stand anywhere. */
export function usedFiles(document: Document): Files {
  const used = new Set(document.elements.map((element) => element.fileId));
  return Object.fromEntries(Object.entries(document.files).filter(([id]) => used.has(id)));
}

/** Of the files in use those that the state to be saved over does not hold: the others stand there. */
export const freshFiles = (document: Document, over: Document): Files =>
  Object.fromEntries(Object.entries(usedFiles(document)).filter(([id, file]) => over.files[id]?.dataURL !== file.dataURL));
