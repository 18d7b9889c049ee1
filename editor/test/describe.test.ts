import assert from "node:assert/strict";
import { test } from "node:test";
import { difference } from "../src/baseline.ts";
import { lines } from "../src/describe.ts";
import { document, type Raw } from "../src/scene.ts";

const box = (id: string, more: Raw = {}): Raw => ({ id, type: "rectangle", x: 0, y: 0, width: 100, height: 60, strokeColor: "#000", ...more });
const label = (id: string, containerId: string, text: string, more: Raw = {}): Raw => ({ id, type: "text", containerId, text, originalText: text, x: 10, y: 10, ...more });
const told = (before: Raw[], after: Raw[]): string[] => {
  const [old, now] = [document({ elements: before }), document({ elements: after })];
  return lines(old, now, difference(old, now)).map((line) => `${line.sign}: ${line.what} ${line.how}`);
};

test("what was done is said by what a person sees, a label with its container", () => {
  const held = [{ id: "t", type: "text" }];
  const before = [box("a", { boundElements: held }), label("t", "a", "Stock"), box("b")];
  assert.deepEqual(told(before, [box("a", { boundElements: held, x: 40 }), label("t", "a", "Stock", { x: 50 }), box("b")]), ["changed: rectangle “Stock” moved"]);
  assert.deepEqual(told(before, [before[0] as Raw, label("t", "a", "Store"), box("b", { strokeColor: "#f00", width: 120 })]), [
    "changed: text “Store” rewritten",
    "changed: rectangle resized and restyled",
  ]);
  assert.deepEqual(told(before, [before[2] as Raw]), ["removed: rectangle “Stock” removed"]);
});

test("what only follows is nothing anybody did", () => {
  const arrow = (points: number[][]): Raw => ({ id: "r", type: "arrow", x: 0, y: 0, points, startBinding: { elementId: "a" }, endBinding: null });
  const before = [box("a"), arrow([[0, 0], [50, 0]])];
  assert.deepEqual(told(before, [box("a", { x: 30, boundElements: [{ id: "r", type: "arrow" }] }), arrow([[0, 0], [20, 0]])]), ["changed: rectangle moved"]);
  assert.deepEqual(told(before, [box("a", { version: 9, boundElements: [] }), before[1] as Raw]), []);
});
