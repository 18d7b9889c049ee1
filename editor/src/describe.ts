// What was done to an element, in a person's words: never an id, which says nothing to anybody who draws.
import type { Difference } from "./baseline.ts";
import type { Document, Raw } from "./scene.ts";

const KINDS: { readonly [type: string]: string } = {
  freedraw: "drawing",
  embeddable: "embedded page",
  iframe: "embedded program",
  magicframe: "frame",
};
const LONGEST = 32;

const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const words = (value: unknown): string => (typeof value === "string" ? value.replace(/\s+/g, " ").trim() : "");
const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1).trimEnd()}…` : text);

const byId = (made: Document): Map<string, Raw> => new Map(made.elements.map((element) => [String(element.id), element]));

const textOf = (element: Raw): string => words(element.originalText) || words(element.text);

function label(element: Raw, there: Map<string, Raw>): string {
  if (element.type === "text") return textOf(element);
  if (element.type === "frame" || element.type === "magicframe") return words(element.name);
  const bound: unknown[] = Array.isArray(element.boundElements) ? element.boundElements : [];
  for (const one of bound) {
    const text = there.get(String((one as Raw | null)?.id));
    if (text?.type === "text" && text.isDeleted !== true) return textOf(text);
  }
  return "";
}

/** "rectangle “Stock”" */
export function name(element: Raw, there: Map<string, Raw>): string {
  const kind = KINDS[String(element.type)] ?? String(element.type);
  const said = cut(label(element, there));
  return said ? `${kind} “${said}”` : kind;
}

const STYLE = ["strokeColor", "backgroundColor", "fillStyle", "strokeWidth", "strokeStyle", "roughness", "opacity", "roundness"] as const;
const FONT = ["fontSize", "fontFamily", "textAlign", "verticalAlign"] as const;
const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const differs = (before: Raw, after: Raw, fields: readonly string[]): boolean => fields.some((field) => !same(before[field], after[field]));
const linear = (element: Raw): boolean => Array.isArray(element.points);

/** "moved and recoloured"; for what nobody sees, "changed". */
export function how(before: Raw, after: Raw): string {
  const said: string[] = [];
  const [dx, dy] = [number(after.x) - number(before.x), number(after.y) - number(before.y)];
  const reshaped = linear(after) && !same(before.points, after.points);
  if (reshaped) said.push("rerouted");
  else if (Math.abs(dx) >= 1 || Math.abs(dy) >= 1) said.push("moved");
  const [dw, dh] = [number(after.width) - number(before.width), number(after.height) - number(before.height)];
  if (!linear(after) && after.type !== "text" && (Math.abs(dw) >= 1 || Math.abs(dh) >= 1)) said.push("resized");
  if (Math.abs(number(after.angle) - number(before.angle)) > 1e-3) said.push("turned");
  if (textOf(before) !== textOf(after)) said.push("rewritten");
  if (differs(before, after, FONT)) said.push("set in another type");
  if (differs(before, after, STYLE) || differs(before, after, ["startArrowhead", "endArrowhead"])) said.push("restyled");
  if (!same(before.name, after.name)) said.push("renamed");
  if (differs(before, after, ["startBinding", "endBinding"]) && !reshaped) said.push("attached otherwise");
  if (!same(before.fileId, after.fileId)) said.push("given another picture");
  if (said.length === 0) return "changed";
  return said.length === 1 ? String(said[0]) : `${said.slice(0, -1).join(", ")} and ${said.at(-1)}`;
}

const ENDS = ["startBinding", "endBinding"] as const;

export type Line = { readonly id: string; readonly sign: "added" | "changed" | "removed"; readonly what: string; readonly how: string };

/** A line for each element that one side touched; a label goes with what it labels. */
export function lines(before: Document, after: Document, made: Difference): readonly Line[] {
  const [old, now] = [byId(before), byId(after)];
  const touched = new Set([...made.added, ...made.changed, ...made.removed]);
  const holder = (id: string): string | null => {
    const held = (now.get(id) ?? old.get(id))?.containerId;
    return typeof held === "string" && touched.has(held) ? held : null;
  };
  const said: Line[] = [];
  const say = (id: string, sign: Line["sign"], element: Raw | undefined, there: Map<string, Raw>, done: string): void => {
    if (element) said.push({ id, sign, what: name(element, there), how: done });
  };
  for (const id of made.added) if (holder(id) === null) say(id, "added", now.get(id), now, "added");
  for (const id of made.changed) {
    const [was, is] = [old.get(id), now.get(id)];
    if (!was || !is) continue;
    const done = how(was, is);
    // Nothing anybody did: a label carried along, a shape that learnt of an arrow, an arrow that followed its target.
    if (done === "changed" || (done === "moved" && holder(id) !== null)) continue;
    if (done === "rerouted" && ENDS.some((end) => touched.has(String((is[end] as Raw | null | undefined)?.elementId)))) continue;
    say(id, "changed", is, now, done);
  }
  for (const id of made.removed) if (holder(id) === null) say(id, "removed", old.get(id), old, "removed");
  return said;
}
