// Two versions of one scene that came from the same one: the person's, and what the file holds meanwhile.
import { difference, type Difference } from "./baseline.ts";
import type { Document, Mark } from "./scene.ts";

export type Rivals = {
  /** What both were made from. */
  readonly base: Document;
  readonly mine: Document;
  readonly theirs: Document;
  readonly mark: Mark;
  readonly changes: { readonly mine: Difference; readonly theirs: Difference };
};

export const rivals = (base: Document, mine: Document, theirs: Document, mark: Mark): Rivals => ({
  base,
  mine,
  theirs,
  mark,
  changes: { mine: difference(base, mine), theirs: difference(base, theirs) },
});
