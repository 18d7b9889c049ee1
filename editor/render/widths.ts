// Widths of text as the package's own measurer says them. Nothing is measured here: what is not known yet is noted, the
// caller measures it with the real fonts and asks again, until an export asks for nothing new.

export type Question = { font: string; text: string };

const KEPT = 100_000;

export class Widths {
  readonly #known = new Map<string, number>();
  readonly #asked = new Map<string, Question>();

  /** Take in what was measured. */
  learn(font: string, text: string, width: number): void {
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(key(font, text), width);
  }
  /** Return a width. For one that is not known, note it, and its characters, and return what leads on soonest. */
  readonly of = (text: string, font: string): number => {
    const known = this.#known.get(key(font, text));
    if (known !== undefined) return known;
    this.#asked.set(key(font, text), { font, text });
    const characters = Array.from(text);
    // The editor remembers the width of a character for ever, unless it is none.
    if (characters.length === 1) return Number.NaN;
    return characters.reduce((sum, one) => {
      const width = this.#known.get(key(font, one));
      if (width === undefined) this.#asked.set(key(font, one), { font, text: one });
      return sum + (width ?? Number.POSITIVE_INFINITY);
    }, 0);
  };
  /** Return what was asked for and is not known, and forget that it was asked. */
  unknown(): Question[] {
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    return asked;
  }
}

function key(font: string, text: string): string {
  return `${font}\0${text}`;
}
