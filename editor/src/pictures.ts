// Small pictures by digest: drawn once, one at a time while the page has nothing else to do, and kept in the browser.
import { run } from "./database.ts";

/** The longer side of a small picture, in its own pixels. */
const SMALL = 560;
/** A drawing of more elements or bytes would hold up the page for as long as it is drawn. */
export const MOST_ELEMENTS = 3000;
export const MOST_BYTES = 4_000_000;
const KEPT = 300;

type Kept = { readonly id: string; readonly at: number; readonly blob: Blob | null };
type Wanted = { readonly sha256: string; readonly dark: boolean; readonly load: () => Promise<unknown>; readonly signal: AbortSignal };

let last: Promise<unknown> = Promise.resolve();

const idle = (): Promise<void> =>
  new Promise((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve(), { timeout: 3000 });
    else setTimeout(resolve, 50);
  });

/** What another build drew may look different. */
const key = ({ sha256, dark }: Wanted): string => `${sha256}-${dark ? "dark" : "light"}-${__BUILD__}`;

async function drawn(wanted: Wanted): Promise<Blob | null> {
  const scene = await wanted.load();
  const { draw } = await import("./draw.ts");
  await idle();
  wanted.signal.throwIfAborted();
  return (await draw(scene, wanted.dark, SMALL))?.blob ?? null;
}

async function keep(id: string, blob: Blob | null): Promise<void> {
  await run("pictures", "readwrite", (store) => store.put({ id, at: Date.now(), blob } satisfies Kept));
  const all = await run<IDBValidKey[]>("pictures", "readonly", (store) => store.index("at").getAllKeys());
  for (const old of all.slice(0, Math.max(0, all.length - KEPT))) await run("pictures", "readwrite", (store) => store.delete(old));
}

/** The picture of one state of a scene; null where it has nothing to see. Rejects where it cannot be drawn. */
export async function picture(wanted: Wanted): Promise<Blob | null> {
  const id = key(wanted);
  const kept = await run<Kept | undefined>("pictures", "readonly", (store) => store.get(id)).catch(() => undefined);
  if (kept) return kept.blob;
  const turn = last.then(async () => {
    wanted.signal.throwIfAborted();
    const blob = await drawn(wanted);
    keep(id, blob).catch(() => undefined);
    return blob;
  });
  last = turn.catch(() => undefined);
  return turn;
}
