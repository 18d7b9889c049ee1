// One open scene: the editor, what it was loaded from, and the hand that carries out what `keeping` decides.
import { CaptureUpdateAction, getNonDeletedElements, restoreElements } from "@excalidraw/excalidraw";
import type { ExcalidrawImperativeAPI } from "@excalidraw/excalidraw/types";
import * as draft from "./draft.ts";
import * as wire from "./wire.ts";
import { baseline, compose, difference, edit, settings, type Baseline, type Difference } from "./baseline.ts";
import { inGesture } from "./gesture.ts";
import { begin, step, type Choice, type Effect, type Event, type Keeping } from "./keeping.ts";
import { portable } from "./portable.ts";
import { document, sameMark, Unreadable, type Document, type Live, type Mark, type Raw } from "./scene.ts";
import type { News } from "./stream.ts";
import { Refusal, UNREACHABLE } from "./wire.ts";

type Elements = Parameters<ExcalidrawImperativeAPI["updateScene"]>[0]["elements"];
type Files = Parameters<ExcalidrawImperativeAPI["addFiles"]>[0];

/** What the page shows of a desk. */
export type View = {
  readonly keeping: Keeping;
  readonly ready: boolean;
  readonly connected: boolean;
  readonly savedAt: number | null;
  /** What somebody else's write changed, since the person last looked. */
  readonly news: { readonly by: string | null; readonly difference: Difference } | null;
  readonly conflict: { readonly mine: Difference; readonly theirs: Difference; readonly mark: Mark } | null;
  readonly drafts: readonly draft.Draft[];
  readonly unreadable: string | null;
};

/** A save on its way; `create` is the request id under which an empty scene is made for it first. */
type Sent = { readonly scene: Raw; readonly id: string; readonly pending: draft.Pending | null; readonly create: string | null; readonly next: Baseline };

const KEEP_AFTER = 400;

/** Pixels that the editor's own bars take of the canvas, above as below: the drawing's middle stays the canvas's. */
const BARS = { top: 80, right: 16, bottom: 80, left: 16 };

const NOTHING = document({});

const reason = (error: unknown): wire.Failure =>
  error instanceof Refusal
    ? error.failure
    : { ...UNREACHABLE, kind: "refused", code: "page", message: String(error), next: null };

const count = (made: Difference): number => made.added.length + made.changed.length + made.removed.length;

/** Restore with the editor's own loader; where it fails, name the element that it fails on. */
function restored(made: Document): NonNullable<Elements> {
  const load = (elements: readonly Raw[]): NonNullable<Elements> =>
    restoreElements(structuredClone(elements) as unknown as Elements, null, { repairBindings: true });
  try {
    return load(made.elements);
  } catch (error) {
    for (const element of made.elements) {
      try {
        load([element]);
      } catch {
        throw new Unreadable(`Element ${String(element.id)} (${String(element.type)}) cannot be read.`, { cause: error });
      }
    }
    throw new Unreadable("Its elements cannot be read together.", { cause: error });
  }
}

function settingsOf(made: Document): { [key: string]: unknown } {
  const { viewBackgroundColor, gridSize, gridModeEnabled } = made.appState;
  return {
    ...(typeof viewBackgroundColor === "string" ? { viewBackgroundColor } : {}),
    ...(typeof gridSize === "number" && gridSize > 0 ? { gridSize } : {}),
    ...(typeof gridModeEnabled === "boolean" ? { gridModeEnabled } : {}),
  };
}

/** The elements as the editor would load them, for a picture. */
export const restorable = (made: Document): ReturnType<typeof restoreElements> => restored(made) as ReturnType<typeof restoreElements>;

export class Desk {
  readonly name: string;
  readonly readOnly: boolean;
  private readonly folder: string;
  private readonly page = draft.claim();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly watchers = new Set<() => void>();
  private api: ExcalidrawImperativeAPI | null = null;
  private looked: wire.Opened | null = null;
  private file: Document;
  private line: Baseline | null = null;
  private sent: Sent | null = null;
  private hand = false;
  private closed = false;
  private view: View;

  constructor(opened: wire.Opened, folder: string, readOnly: boolean, drafts: readonly draft.Draft[]) {
    this.name = opened.name;
    this.folder = folder;
    this.readOnly = readOnly;
    this.file = document(opened.scene);
    this.view = {
      keeping: begin(opened.mark),
      ready: false,
      connected: true,
      savedAt: null,
      news: null,
      conflict: null,
      drafts,
      unreadable: null,
    };
  }

  // --- what React reads -------------------------------------------------------------------------------------------

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly current = (): View => this.view;

  private show(part: Partial<View>): void {
    this.view = { ...this.view, ...part };
    for (const watcher of this.watchers) watcher();
  }

  // --- the editor -------------------------------------------------------------------------------------------------

  /** The editor is mounted and finished its own empty start. */
  ready(api: ExcalidrawImperativeAPI): void {
    if (this.api || this.closed) return;
    this.api = api;
    try {
      this.load(this.file);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.show({ unreadable: error.message });
      return;
    }
    api.history.clear();
    const live = getNonDeletedElements(api.getSceneElementsIncludingDeleted());
    if (live.length > 0) api.scrollToContent(live, { fitToContent: true, animate: false, canvasOffsets: BARS });
    // The editor leaves its menu's button without a name.
    globalThis.document.querySelector(".main-menu-trigger")?.setAttribute("aria-label", "Menu");
    this.show({ ready: true });
    wire.report("canvas-ready", { name: this.name, elementCount: live.length });
  }

  private load(made: Document, file?: Document): void {
    const api = this.editor();
    const elements = restored(made);
    api.addFiles(Object.values(made.files).filter((entry) => typeof entry.dataURL === "string") as unknown as Files);
    const appState = settingsOf(made) as NonNullable<Parameters<typeof api.updateScene>[0]["appState"]>;
    api.updateScene({ elements, appState, captureUpdate: CaptureUpdateAction.NEVER });
    this.line = baseline(made, this.elements(), this.state(), file);
    this.trail = this.print();
  }

  private editor(): ExcalidrawImperativeAPI {
    if (!this.api) throw new Error("the editor is not there");
    return this.api;
  }

  private elements(): readonly Live[] {
    return this.editor().getSceneElementsIncludingDeleted();
  }

  private state(): Raw {
    return this.editor().getAppState() as unknown as Raw;
  }

  /** Something moved in the editor; called often. */
  readonly changed = (): void => {
    if (!this.line || !this.api || this.closed) return;
    const down = inGesture(this.state());
    if (down !== this.hand) {
      this.hand = down;
      if (!down) this.measure();
      this.tell({ on: "gesture", down });
    } else if (!down) {
      this.measure();
    }
    if (down) this.keepSoon(KEEP_AFTER * 2);
  };

  /** Ask again only after something really changed: the editor calls on every move of the pointer. */
  private measure(): void {
    const trail = this.print();
    if (trail === this.trail) return;
    this.trail = trail;
    this.tell({ on: "edited", edit: this.made() });
  }

  private trail = "";

  private print(): string {
    const elements = this.elements();
    let sum = 0;
    for (const { version, versionNonce } of elements) sum = (sum * 31 + version * 7919 + versionNonce) % 2 ** 40;
    return `${elements.length}:${sum}:${JSON.stringify(settings(this.state()))}`;
  }

  private made(): ReturnType<typeof edit> {
    return edit(this.line as Baseline, this.elements(), this.state());
  }

  // --- events and effects -----------------------------------------------------------------------------------------

  readonly tell = (event: Event): void => {
    if (this.closed) return;
    const [keeping, effects] = step(this.view.keeping, event);
    if (keeping !== this.view.keeping) {
      const over = keeping.halt.kind !== "conflict" && this.view.conflict !== null;
      this.show({ keeping, ...(over ? { conflict: null } : {}) });
    }
    for (const effect of effects) this.carryOut(effect);
  };

  readonly choose = (choice: Choice): void => this.tell({ on: "chose", choice });

  readonly heard = (news: News): void => {
    switch (news.what) {
      case "down":
        this.show({ connected: false });
        return;
      case "up": {
        this.show({ connected: true });
        this.tell({ on: "retry" });
        const row = news.scenes.find((scene) => scene.name === this.name);
        if (row) this.tell({ on: "seen", mark: row });
        else this.tell(this.view.keeping.saving ? { on: "removed", to: null } : { on: "look" });
        return;
      }
      case "changed":
        if (news.name === this.name) this.tell({ on: "seen", mark: news.mark });
        return;
      case "removed":
        if (news.name === this.name) this.tell({ on: "removed", to: news.to });
    }
  };

  /** Save now what is unsaved. */
  readonly saveNow = (): void => {
    this.clear("due");
    this.tell({ on: "due" });
  };

  private arm(what: "due" | "retry" | "look" | "keep", after: number, then: () => void): void {
    this.clear(what);
    this.timers.set(what, setTimeout(then, after));
  }

  private clear(what: string): void {
    clearTimeout(this.timers.get(what));
    this.timers.delete(what);
  }

  private carryOut(effect: Effect): void {
    switch (effect.do) {
      case "arm":
        this.arm(effect.what, effect.after, () => this.tell({ on: effect.what }));
        return;
      case "send":
        void this.send(effect.over);
        return;
      case "create":
        void this.send(null);
        return;
      case "resend":
        void this.resend();
        return;
      case "look":
        void this.look();
        return;
      case "take":
        this.take();
        return;
      case "set-aside":
        void this.setAside(effect.base);
        return;
      case "keep":
        this.keepSoon(KEEP_AFTER);
        return;
      case "drop":
        this.clear("keep");
        void draft.drop(this.page.id).catch(() => undefined);
    }
  }

  /** Save over one state of the file: the base, or the one that was looked at and shown; null makes the scene again. */
  private async send(over: Mark | null): Promise<void> {
    const line = this.line as Baseline;
    const composed = this.compose();
    const there = over === null ? NOTHING : sameMark(over, this.view.keeping.base) ? this.file : document(this.looked?.scene);
    try {
      const files = await portable(draft.freshFiles(composed.document, there));
      // Another content was loaded meanwhile: this one is no longer what the page shows.
      if (this.line !== line) return;
      const { elements, appState } = composed.document;
      const scene = { type: "excalidraw", version: 2, source: "countermark", elements, appState, files };
      const id = crypto.randomUUID();
      const pending = over && wire.saving(scene, over, id);
      this.sent = { scene, id, pending, create: over ? null : crypto.randomUUID(), next: composed.next };
    } catch (error) {
      if (this.line === line) this.tell({ on: "failed", failure: reason(error) });
      return;
    }
    await this.resend();
  }

  private async resend(): Promise<void> {
    let sent = this.sent;
    if (!sent) return;
    let mark: Mark;
    try {
      if (sent.create !== null) {
        const made = await wire.create(this.name, sent.create);
        if (this.sent !== sent) return;
        sent = this.sent = { ...sent, create: null, pending: wire.saving(sent.scene, made, sent.id) };
      }
      mark = await wire.save(this.name, sent.pending as draft.Pending);
    } catch (error) {
      if (this.sent !== sent) return;
      const failure = reason(error);
      if (failure.kind !== "offline" && failure.kind !== "busy") this.sent = null;
      this.tell({ on: "failed", failure });
      return;
    }
    // The page went on with something else: what arrived is news from the folder, and no base of what it shows now.
    if (this.sent !== sent) return;
    if (this.closed) return;
    this.sent = null;
    this.line = sent.next;
    this.file = sent.next.base;
    this.show({ savedAt: Date.now() });
    const now = this.made();
    this.tell({ on: "saved", mark, edit: now });
    wire.report("saved", { name: this.name, revision: mark.revision, sha256: mark.sha256, elementCount: now.after });
  }

  private async look(): Promise<void> {
    try {
      const opened = await wire.open(this.name);
      if (this.closed) return;
      this.looked = opened;
      this.tell({ on: "looked", mark: opened.mark });
      if (this.view.keeping.halt.kind === "conflict") this.compare(opened);
    } catch (error) {
      this.tell({ on: "unseen", failure: reason(error) });
    }
  }

  /** Put the file's state into the editor: viewport, selection and the undo stack stay the person's. */
  private take(): void {
    const opened = this.looked as wire.Opened;
    try {
      const next = document(opened.scene);
      const made = difference(this.file, next);
      this.load(next);
      this.file = next;
      this.show({ news: count(made) > 0 ? { by: opened.mark.by, difference: made } : null, unreadable: null });
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.show({ unreadable: error.message });
    }
  }

  private compare(opened: wire.Opened): void {
    const theirs = difference(this.file, document(opened.scene));
    this.show({ conflict: { mine: difference(this.file, this.composed()), theirs, mark: opened.mark } });
  }

  /** Look at what somebody else changed. */
  readonly showNews = (): void => {
    const ids = new Set([...(this.view.news?.difference.added ?? []), ...(this.view.news?.difference.changed ?? [])]);
    this.showElements(ids);
    this.show({ news: null });
  };

  readonly showElements = (ids: ReadonlySet<string>): void => {
    const api = this.editor();
    const chosen = getNonDeletedElements(api.getSceneElements()).filter((element) => ids.has(element.id));
    if (chosen.length === 0) return;
    api.scrollToContent(chosen, { fitToViewport: true, viewportZoomFactor: 0.6, animate: false, maxZoom: 1, canvasOffsets: BARS });
    const selectedElementIds = Object.fromEntries(chosen.map((element) => [element.id, true as const]));
    api.updateScene({ appState: { selectedElementIds }, captureUpdate: CaptureUpdateAction.NEVER });
  };

  readonly dismissNews = (): void => this.show({ news: null });

  // --- drafts -----------------------------------------------------------------------------------------------------

  private compose(): ReturnType<typeof compose> {
    const files = this.editor().getFiles() as unknown as Document["files"];
    return compose(this.line as Baseline, this.elements(), this.state(), files);
  }

  private composed(): Document {
    return this.compose().document;
  }

  private drafted(id: string, aside: boolean): draft.Draft {
    const composed = this.composed();
    return {
      id,
      folder: this.folder,
      name: this.name,
      at: Date.now(),
      base: this.view.keeping.base,
      // Whole: when it is brought back, the file may no longer hold a picture that it uses.
      document: { ...composed, files: draft.usedFiles(composed) },
      pending: this.sent?.pending ?? null,
      aside,
    };
  }

  private keepSoon(after: number): void {
    if (this.timers.has("keep")) return;
    this.arm("keep", after, () => this.keepNow());
  }

  /** Write the draft, where there is something that the file does not hold. */
  readonly keepNow = (): void => {
    this.clear("keep");
    if (this.closed || !this.line || !this.made().dirty) return;
    draft.keep(this.drafted(this.page.id, false)).catch(() => undefined);
  };

  private async setAside(base: Mark): Promise<void> {
    if (!this.line || !this.made().dirty) return;
    const aside = { ...this.drafted(crypto.randomUUID(), true), base };
    this.show({ drafts: [aside, ...this.view.drafts] });
    await draft.keep(aside);
    await draft.drop(this.page.id);
  }

  /** Go on with a draft: as unsaved work on the state it was made from, so that the fence decides. */
  readonly bringBack = async (kept: draft.Draft): Promise<void> => {
    if (this.view.keeping.saving) return;
    try {
      // A save without an answer may have arrived: the same request is answered again and not done again.
      const arrived = draft.resendable(kept.pending) ? await wire.save(this.name, kept.pending).catch(() => null) : null;
      const opened = await wire.open(this.name);
      if (this.closed) return;
      if (this.view.keeping.edit.dirty) await this.setAside(this.view.keeping.base);
      // A save that set out meanwhile goes its own way: its answer is not about what is loaded now.
      this.sent = null;
      this.clear("due");
      this.clear("retry");
      this.file = document(opened.scene);
      const made = { ...kept.document, files: { ...this.file.files, ...kept.document.files } };
      this.load(made, count(difference(this.file, made)) > 0 ? this.file : undefined);
      this.show({ keeping: { ...begin(arrived ?? kept.base, this.made()), gesture: this.hand }, conflict: null });
      await draft.keep(this.drafted(this.page.id, false));
      await this.discard(kept);
      this.tell({ on: "seen", mark: opened.mark });
      this.tell({ on: "edited", edit: this.made() });
    } catch (error) {
      this.tell({ on: "unseen", failure: reason(error) });
    }
  };

  readonly discard = async (kept: draft.Draft): Promise<void> => {
    this.show({ drafts: this.view.drafts.filter((one) => one.id !== kept.id) });
    await draft.drop(kept.id);
  };

  /** Leave the scene: what is unsaved stays as a draft, and nothing of it can reach another scene. */
  close(): void {
    this.keepNow();
    this.closed = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.page.release();
  }
}
