// What is not saved yet lies in the browser's own database, so that a closed, killed or reloaded page loses nothing.
import type { Document, Mark, Raw } from "./scene.ts";

export type Draft = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly at: number;
  /** What the work was made from. */
  readonly base: Mark;
  readonly document: Document;
  /** A save that got no answer: sent again as it was, it cannot happen twice. */
  readonly pending: Pending | null;
  /** The person took the file's state instead; this one is only offered back. */
  readonly aside: boolean;
};

export type Pending = { readonly body: string; readonly from: string | null };

const STORE = "drafts";

function database(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("countermark", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const open = await database();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = open.transaction(STORE, mode, { durability: "strict" });
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    open.close();
  }
}

export const keep = async (draft: Draft): Promise<void> => void (await run("readwrite", (store) => store.put(draft)));

export const drop = async (id: string): Promise<void> => void (await run("readwrite", (store) => store.delete(id)));

/** Drafts of this scene whose page is gone, newest first. */
export async function left(folder: string, name: string): Promise<Draft[]> {
  const held = new Set((await navigator.locks.query()).held?.map((lock) => lock.name));
  const all = await run<Draft[]>("readonly", (store) => store.getAll());
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

/** Of the files only the new ones: the others stand in the scene. */
export const freshFiles = (document: Document, base: Document): { readonly [id: string]: Raw } =>
  Object.fromEntries(Object.entries(document.files).filter(([id]) => !(id in base.files)));
