import assert from "node:assert/strict";
import { test } from "node:test";
import { inGesture } from "../src/gesture.ts";

const resting = { cursorButton: "up", newElement: null, isResizing: false, selectedLinearElement: { elementId: "a" } };

test("a resting hand is none, also with an arrow selected", () => {
  assert.equal(inGesture(resting), false);
});

for (const [field, value] of Object.entries({
  cursorButton: "down",
  newElement: {},
  multiElement: {},
  selectionElement: {},
  selectedElementsAreBeingDragged: true,
  resizingElement: {},
  isResizing: true,
  isRotating: true,
  editingTextElement: {},
  editingLinearElement: {},
  croppingElementId: "a",
  isCropping: true,
  editingFrame: "f",
  pendingImageElementId: "i",
  activeEmbeddable: { state: "active" },
})) {
  test(`${field} is a gesture`, () => {
    assert.equal(inGesture({ ...resting, [field]: value }), true);
  });
}
