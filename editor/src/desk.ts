// One open scene: the hand that carries out what `keeping` decides, between the editor, the server and the drafts.
import type { ExcalidrawImperativeAPI } from "@excalidraw/excalidraw/types";
import * as draft from "./draft.ts";
import * as wire from "./wire.ts";
import { difference, type Difference } from "./baseline.ts";
import { Clashes, type Clash } from "./clash.ts";
import { Editor } from "./editor.ts";
import { begin, step, type Choice, type Effect, type Event, type Keeping } from "./keeping.ts";
import { document, sameMark, Unreadable, type Document, type Mark } from "./scene.ts";
import { grounded, NOTHING, prepare, type Sent } from "./sending.ts";
import type { News } from "./stream.ts";
import { Refusal, UNREACHABLE } from "./wire.ts";

/** What the page shows of a desk. */
export type View = {
  readonly keeping: Keeping;
  readonly ready: boolean;
  readonly connected: boolean;
  /** What somebody else's write changed, since the person last looked. */
  readonly news: { readonly by: string | null; readonly difference: Difference } | null;
  readonly conflict: Clash | null;
  readonly drafts: readonly draft.Draft[];
  readonly unreadable: string | null;
};

const KEEP_AFTER = 400;
const COMPARE_AFTER = 300;

const reason = (error: unknown): wire.Failure =>
  error instanceof Refusal
    ? error.failure
    : { ...UNREACHABLE, kind: "refused", code: "page", message: String(error), next: null };

const count = (made: Difference): number => made.added.length + made.changed.length + made.removed.length;

export class Desk {
  readonly name: string;
  readonly readOnly: boolean;
  private readonly folder: string;
  private readonly page = draft.claim();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly watchers = new Set<() => void>();
  private editor: Editor | null = null;
  private begun = false;
  private looked: wire.Opened | null = null;
  private file: Document;
  private sent: Sent | null = null;
  private readonly clashes: Clashes;
  /** The proposal that was taken, until it is shown. */
  private settled: ReturnType<Clashes["settled"]> = null;
  private hand = false;
  private closed = false;
  private view: View;

  constructor(opened: wire.Opened, folder: string, readOnly: boolean, drafts: readonly draft.Draft[]) {
    this.name = opened.name;
    this.folder = folder;
    this.readOnly = readOnly;
    this.file = document(opened.scene);
    this.clashes = new Clashes(opened.name, (conflict) => this.show({ conflict }));
    this.view = {
      keeping: begin(opened.mark),
      ready: false,
      connected: true,
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
    if (this.begun || this.closed) return;
    this.begun = true;
    try {
      this.editor = new Editor(api, this.file);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.show({ unreadable: error.message });
      return;
    }
    // The editor leaves its menu's button without a name.
    globalThis.document.querySelector(".main-menu-trigger")?.setAttribute("aria-label", "Menu");
    this.show({ ready: true });
    wire.report("canvas-ready", { name: this.name, elementCount: this.editor.edit().before });
  }

  /** Something moved in the editor; called often. */
  readonly changed = (): void => {
    const editor = this.editor;
    if (!editor || this.closed) return;
    const down = editor.gesture;
    const turned = down !== this.hand;
    this.hand = down;
    if (!down && editor.moved()) this.tell({ on: "edited", edit: editor.edit() });
    if (turned) this.tell({ on: "gesture", down });
    if (down) this.keepSoon(KEEP_AFTER * 2);
  };

  // --- events and effects -----------------------------------------------------------------------------------------

  readonly tell = (event: Event): void => {
    if (this.closed) return;
    const [keeping, effects] = step(this.view.keeping, event);
    if (keeping !== this.view.keeping) {
      this.show({ keeping });
      if (keeping.halt.kind !== "conflict") this.clashes.clear();
    }
    for (const effect of effects) this.carryOut(effect);
    if (event.on === "edited" && this.view.conflict) this.arm("compare", COMPARE_AFTER, () => this.compare());
  };

  readonly choose = (choice: Choice): void => {
    if (choice === "merge") {
      const { halt } = this.view.keeping;
      this.settled = this.clashes.settled(this.composed(), halt.kind === "conflict" ? halt.shown : null);
      if (!this.settled) return this.compare();
    }
    this.tell({ on: "chose", choice });
  };

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

  private arm(what: "due" | "retry" | "look" | "keep" | "compare", after: number, then: () => void): void {
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
      case "weave":
        this.weave();
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
    const editor = this.editor as Editor;
    const origin = editor.origin;
    const there = over === null ? NOTHING : sameMark(over, this.view.keeping.base) ? this.file : document(this.looked?.scene);
    try {
      const sent = await prepare(this.name, editor.compose(), over, there);
      // Another content was loaded meanwhile: this one is no longer what the page shows.
      if (editor.origin !== origin) return;
      this.sent = sent;
    } catch (error) {
      if (editor.origin === origin) this.tell({ on: "failed", failure: reason(error) });
      return;
    }
    await this.resend();
  }

  private async resend(): Promise<void> {
    let sent = this.sent;
    if (!sent) return;
    let mark: Mark;
    try {
      const made = await grounded(sent);
      // The page went on with something else: what arrives is news from the folder, and no base of what it shows now.
      if (this.sent !== sent) return;
      this.sent = sent = made;
      mark = await wire.save(this.name, made.pending);
    } catch (error) {
      if (this.sent !== sent) return;
      const failure = reason(error);
      if (failure.kind !== "offline" && failure.kind !== "busy") this.sent = null;
      this.tell({ on: "failed", failure });
      return;
    }
    const editor = this.editor;
    if (this.sent !== sent || this.closed || !editor) return;
    this.sent = null;
    editor.landed(sent.next);
    this.file = sent.next.base;
    const now = editor.edit();
    this.tell({ on: "saved", mark, edit: now });
    wire.report("saved", { name: this.name, revision: mark.revision, sha256: mark.sha256, elementCount: now.after });
  }

  private async look(): Promise<void> {
    try {
      const opened = await wire.open(this.name);
      if (this.closed) return;
      this.looked = opened;
      this.tell({ on: "looked", mark: opened.mark });
      this.compare();
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
      this.editor?.load(next);
      this.file = next;
      this.show({ news: count(made) > 0 ? { by: opened.mark.by, difference: made } : null, unreadable: null });
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.show({ unreadable: error.message });
    }
  }

  /** Put the person's version beside the file's; again when they went on drawing. */
  private compare(): void {
    if (!this.looked || this.view.keeping.halt.kind !== "conflict") return;
    this.clashes.compare(this.file, this.view.keeping.base.revision, this.composed(), this.looked);
  }

  readonly decide = (id: string, choice: string): void => this.clashes.decide(id, choice);

  /** Go on with what both versions come to, as unsaved work on the file's state. */
  private weave(): void {
    const taken = this.settled;
    if (!taken || !this.editor) return;
    this.settled = null;
    this.file = taken.theirs;
    this.editor.load(document(taken.proposal.scene), this.file);
    this.tell({ on: "edited", edit: this.editor.edit() });
    this.keepNow();
  }

  /** Look at what somebody else changed. */
  readonly showNews = (): void => {
    const ids = new Set([...(this.view.news?.difference.added ?? []), ...(this.view.news?.difference.changed ?? [])]);
    this.showElements(ids);
    this.show({ news: null });
  };

  readonly showElements = (ids: ReadonlySet<string>): void => this.editor?.show(ids);

  readonly dismissNews = (): void => this.show({ news: null });

  // --- drafts -----------------------------------------------------------------------------------------------------

  private composed(): Document {
    return (this.editor as Editor).compose().document;
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
    if (this.closed || !this.editor?.edit().dirty) return;
    draft.keep(this.drafted(this.page.id, false)).catch(() => undefined);
  };

  private async setAside(base: Mark): Promise<void> {
    if (!this.editor?.edit().dirty) return;
    const aside = { ...this.drafted(crypto.randomUUID(), true), base };
    this.show({ drafts: [aside, ...this.view.drafts] });
    await draft.keep(aside);
    await draft.drop(this.page.id);
  }

  /** Go on with a draft: as unsaved work on the state it was made from, so that the fence decides. */
  readonly bringBack = async (kept: draft.Draft): Promise<void> => {
    const editor = this.editor;
    if (!editor || this.view.keeping.saving) return;
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
      editor.load(made, count(difference(this.file, made)) > 0 ? this.file : undefined);
      this.show({ keeping: { ...begin(arrived ?? kept.base, editor.edit()), gesture: this.hand } });
      this.clashes.clear();
      await draft.keep(this.drafted(this.page.id, false));
      await this.discard(kept);
      this.tell({ on: "seen", mark: opened.mark });
      this.tell({ on: "edited", edit: editor.edit() });
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
