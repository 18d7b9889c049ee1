// A conflict: the person's version beside the file's, and what the two come to, as long as both are as they were asked.
import { difference } from "./baseline.ts";
import { rivals, type Rivals } from "./rivals.ts";
import { document, sameMark, type Document, type Mark } from "./scene.ts";
import { merged } from "./sending.ts";
import { Refusal, type Opened, type Proposal } from "./wire.ts";

export type Clash = Rivals & { readonly proposal: Proposal | null };

export class Clashes {
  private readonly name: string;
  private readonly show: (clash: Clash | null) => void;
  private current: Clash | null = null;
  private revision = 0;
  private asked = 0;

  constructor(name: string, show: (clash: Clash | null) => void) {
    this.name = name;
    this.show = show;
  }

  private set(clash: Clash | null): void {
    this.current = clash;
    this.show(clash);
  }

  clear(): void {
    if (this.current) this.set(null);
  }

  /** Put both side by side, and ask what they come to. Raises `Unreadable`. */
  compare(base: Document, revision: number, mine: Document, theirs: Opened): void {
    this.revision = revision;
    this.set({ ...rivals(base, mine, document(theirs.scene), theirs.mark), proposal: null });
    void this.ask({});
  }

  /** Settle one thing that both changed. */
  decide(id: string, choice: string): void {
    const { current } = this;
    if (!current?.proposal) return;
    const disputes = current.proposal.disputes.map((one) => (one.id === id ? { ...one, chosen: choice } : one));
    this.set({ ...current, proposal: { ...current.proposal, disputes, settled: false } });
    void this.ask(Object.fromEntries(disputes.flatMap((one): [string, string][] => (one.chosen === null ? [] : [[one.id, one.chosen]]))));
  }

  /** Without an answer nothing is offered beside reload and overwrite. */
  private async ask(choices: { readonly [id: string]: string }): Promise<void> {
    const about = this.current;
    if (!about) return;
    const turn = (this.asked += 1);
    try {
      const proposal = await merged(this.name, about, this.revision, choices);
      if (turn === this.asked && this.current?.mine === about.mine && sameMark(proposal.mark, about.mark)) this.set({ ...about, proposal });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** The proposal, where it is settled and about what the page holds now and the file's state that was shown. */
  settled(mine: Document, shown: Mark | null): (Clash & { readonly proposal: Proposal }) | null {
    const { current } = this;
    if (!current?.proposal?.settled || !shown || !sameMark(current.proposal.mark, shown)) return null;
    const since = difference(current.mine, mine);
    if (since.added.length + since.changed.length + since.removed.length > 0) return null;
    return { ...current, proposal: current.proposal };
  }
}
