// Widths of text as the package's own measurer says them. Nothing is measured here: what is not known yet is noted, the
// caller measures it with the real fonts and asks again.

export type Question = { font: string; text: string };

const KEPT = 100_000;

export class Widths {
  readonly #known = new Map<string, number>();
  readonly #asked = new Map<string, Question>();

  /** Take in what was measured. */
  learn(font: string, text: string, width: number): void {
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(`${font}\0${text}`, width);
  }
  /** Return a width. One that is not known is noted and wider than anything, so that whoever asks goes on asking. */
  readonly of = (text: string, font: string): number => {
    const key = `${font}\0${text}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#asked.set(key, { font, text });
    return Number.POSITIVE_INFINITY;
  };
  /** Return what was asked for and is not known, and forget that it was asked. */
  unknown(): Question[] {
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    return asked;
  }
}
