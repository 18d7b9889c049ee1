// The person's library: their own shapes, kept in the folder for every scene and every window of it.
//
// Items come and go, and none is ever edited: two windows add to one library, neither puts back what the other removed,
// and what the editor respelled goes back as it stood. What could not be saved is kept in the browser, and added later.
import { run } from "./database.ts";
import { Refusal, library, putLibrary, type Library } from "./wire.ts";
import { isRaw, type Raw } from "./scene.ts";

type Kept = { readonly id: "own"; readonly items: readonly Raw[] };

const OWN = "own";
const AFTER = 400;

const id = (item: Raw): string => String(item.id);
const same = (one: readonly Raw[], other: readonly Raw[]): boolean => one.map(id).join("\n") === other.map(id).join("\n");

/** Theirs, without what was removed here and with what was added here since both were `base`. */
export function joined(base: readonly Raw[], mine: readonly Raw[], theirs: readonly Raw[]): readonly Raw[] {
  const [was, here, there] = [base, mine, theirs].map((items) => new Set(items.map(id))) as [Set<string>, Set<string>, Set<string>];
  const added = mine.filter((item) => !was.has(id(item)) && !there.has(id(item)));
  return [...added, ...theirs.filter((item) => here.has(id(item)) || !was.has(id(item)))];
}

export class Shelf {
  private known: Library = { revision: "absent", items: [] };
  private loaded = false;
  private wanted: readonly Raw[] | null = null;
  private busy: Promise<void> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly show: (items: readonly Raw[]) => void;
  private readonly say: (words: string | null) => void;

  /** `show` puts items into the editor; `say` tells the person what is wrong with keeping them, or that nothing is. */
  constructor(show: (items: readonly Raw[]) => void, say: (words: string | null) => void) {
    this.show = show;
    this.say = say;
  }

  /** What the editor begins with; with what this browser kept because it could not be saved. */
  async begin(): Promise<readonly Raw[]> {
    const left = await run<Kept | undefined>("library", "readonly", (store) => store.get(OWN)).catch(() => undefined);
    try {
      this.known = await library();
      this.loaded = true;
    } catch (error) {
      if (error instanceof Refusal && error.failure.kind === "corrupt") this.say(error.failure.message);
      return left?.items ?? [];
    }
    if (!left) return this.known.items;
    const all = joined([], left.items, this.known.items);
    this.changed(all);
    return all;
  }

  /** The editor's library is this now. */
  changed(items: readonly unknown[]): void {
    const stored = new Map(this.known.items.map((item) => [id(item), item]));
    this.wanted = items.filter(isRaw).map((item) => stored.get(id(item)) ?? item);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.keep(), AFTER);
  }

  /** The page came to the front: another window may have changed it. */
  async look(): Promise<void> {
    await this.busy;
    if (this.wanted) return;
    const found = await library().catch(() => null);
    if (!found || found.revision === this.known.revision || this.wanted) return;
    this.known = found;
    this.show(found.items);
  }

  private keep(): Promise<void> {
    this.busy = this.busy.then(() => this.save()).catch(() => undefined);
    return this.busy;
  }

  private async save(): Promise<void> {
    const items = this.wanted;
    if (!items) return;
    this.wanted = null;
    if (same(items, this.known.items)) return this.loaded ? this.kept() : undefined;
    try {
      this.known = { revision: await putLibrary(items, this.known.revision), items };
      await this.kept();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.failure.kind === "conflict") return this.again(items);
      await run("library", "readwrite", (store) => store.put({ id: OWN, items } satisfies Kept));
      this.say(`${error.failure.message} Your library is kept in this browser until then.`);
    }
  }

  /** Somebody else saved first: theirs with what was done here. */
  private async again(items: readonly Raw[]): Promise<void> {
    const theirs = await library();
    const all = joined(this.known.items, items, theirs.items);
    this.known = theirs;
    this.loaded = true;
    this.wanted ??= all;
    this.show(all);
    await this.save();
  }

  private async kept(): Promise<void> {
    this.say(null);
    await run("library", "readwrite", (store) => store.delete(OWN));
  }
}
