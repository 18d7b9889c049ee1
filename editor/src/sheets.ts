// Both versions of a conflict as pictures on one plane, with a mark around everything that one side did.
import { lines, type Line } from "./describe.ts";
import { boxOf, draw, shown, type Box } from "./draw.ts";
import type { Rivals } from "./rivals.ts";
import type { Document } from "./scene.ts";

export type Mark = { readonly line: Line; readonly box: Box; readonly both: boolean };
export type Sheet = { readonly url: string | null; readonly box: Box | null; readonly marks: readonly Mark[] };
export type Sheets = { readonly mine: Sheet; readonly theirs: Sheet; readonly view: Box; readonly background: string; readonly dark: boolean };

const MARGIN = 14;

const grown = (box: Box, by: number): Box => ({ x: box.x - by, y: box.y - by, width: box.width + 2 * by, height: box.height + 2 * by });

function around(boxes: readonly Box[]): Box {
  const left = Math.min(...boxes.map((box) => box.x));
  const top = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}

const boxes = (made: Document): Map<string, Box> => new Map(shown(made).map((element) => [element.id, boxOf([element])]));

/** What each side did, in words: the same lines stand beside the pictures and around the marks. */
export function told(made: Rivals): { readonly mine: readonly Line[]; readonly theirs: readonly Line[]; readonly both: ReadonlySet<string> } {
  const mine = lines(made.base, made.mine, made.changes.mine);
  const theirs = lines(made.base, made.theirs, made.changes.theirs);
  const ids = new Set(mine.map((line) => line.id));
  return { mine, theirs, both: new Set(theirs.map((line) => line.id).filter((id) => ids.has(id))) };
}

/** Draw both, the longer side of each at most so many pixels. `free` gives the pictures back. */
export async function sheets(made: Rivals, dark: boolean, atMost: number): Promise<{ readonly sheets: Sheets; readonly free: () => void }> {
  const said = told(made);
  const before = boxes(made.base);
  const urls: string[] = [];
  const sheet = async (of: Document, about: readonly Line[]): Promise<Sheet> => {
    const plate = await draw(of, dark, atMost);
    const url = plate && URL.createObjectURL(plate.blob);
    if (url) urls.push(url);
    const now = boxes(of);
    const marks = about.flatMap((line) => {
      const box = line.sign === "removed" ? before.get(line.id) : now.get(line.id);
      return box ? [{ line, box: grown(box, 6), both: said.both.has(line.id) }] : [];
    });
    return { url, box: plate?.box ?? null, marks };
  };
  const mine = await sheet(made.mine, said.mine);
  const theirs = await sheet(made.theirs, said.theirs);
  const all = [mine, theirs].flatMap((one) => [...(one.box ? [one.box] : []), ...one.marks.map((mark) => mark.box)]);
  const view = grown(all.length > 0 ? around(all) : { x: 0, y: 0, width: 320, height: 200 }, MARGIN);
  const background = made.theirs.appState.viewBackgroundColor;
  const plain = typeof background === "string" && background !== "transparent" ? background : "#ffffff";
  // Later: an address taken back while its picture still loads is an error in the console.
  const free = () => void setTimeout(() => urls.forEach((url) => URL.revokeObjectURL(url)), 10_000);
  return { sheets: { mine, theirs, view, background: plain, dark }, free };
}
