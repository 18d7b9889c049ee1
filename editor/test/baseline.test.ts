import assert from "node:assert/strict";
import { test } from "node:test";
import { baseline, compose, difference, edit, shrinks } from "../src/baseline.ts";
import { document, Unreadable, type Live, type Raw } from "../src/scene.ts";

const live = (id: string, version = 1, more: Partial<Live> = {}): Live => ({ id, type: "rectangle", version, versionNonce: 1, isDeleted: false, ...more });
const base = (...elements: Raw[]) => document({ elements, appState: { gridSize: 20, theirs: 1 }, files: { f: { id: "f" } } });
const state = { viewBackgroundColor: "#fff", gridSize: 20, gridModeEnabled: false };

test("elements as they were loaded go back as the very objects of the file", () => {
  const file = base({ id: "a", version: 9 }, { id: "b" });
  const line = baseline(file, [live("a", 10), live("b")], state);
  const { document: made } = compose(line, [live("a", 10), live("b", 2)], state, {});
  assert.equal(made.elements[0], file.elements[0]);
  assert.notEqual(made.elements[1], file.elements[1]);
  assert.equal(edit(line, [live("a", 10), live("b")], state).dirty, false);
});

test("what the loader dropped follows the neighbour that it followed, through a new order", () => {
  const file = base({ id: "x0" }, { id: "a" }, { id: "x1" }, { id: "x2" }, { id: "b" });
  const line = baseline(file, [live("a"), live("b")], state);
  const { document: made } = compose(line, [live("b"), live("a", 2)], state, {});
  assert.deepEqual(made.elements.map((element) => element.id), ["x0", "b", "a", "x1", "x2"]);
});

test("the second element of one id is matched though the loader renamed it", () => {
  const file = base({ id: "a", n: 1 }, { id: "a", n: 2 }, { id: "b" });
  const line = baseline(file, [live("a"), live("new"), live("b")], state);
  const { document: made } = compose(line, [live("a"), live("new"), live("b")], state, {});
  assert.deepEqual(made.elements, file.elements);
});

test("drawn and removed before any save is nothing; removed after a save is a tombstone", () => {
  const file = base({ id: "a" });
  const line = baseline(file, [live("a")], state);
  const now = [live("a"), live("brief", 4, { isDeleted: true })];
  assert.equal(edit(line, now, state).dirty, false);
  assert.equal(compose(line, now, state, {}).document.elements.length, 1);
  const gone = compose(line, [live("a", 2, { isDeleted: true })], state, {}).document;
  assert.equal(gone.elements[0]?.isDeleted, true);
});

test("only what changed of the settings is written, and others' keys stay", () => {
  const line = baseline(base({ id: "a" }), [live("a")], state);
  const { document: made } = compose(line, [live("a")], { ...state, gridModeEnabled: true }, {});
  assert.deepEqual(made.appState, { gridSize: 20, theirs: 1, gridModeEnabled: true });
});

test("new files come along when an element uses them", () => {
  const line = baseline(base({ id: "a" }), [live("a")], state);
  const image = live("i", 1, { type: "image", fileId: "new" });
  const { document: made } = compose(line, [live("a"), image], state, { new: { id: "new" }, loose: { id: "loose" } });
  assert.deepEqual(Object.keys(made.files).sort(), ["f", "new"]);
});

test("after a save, the saved document is the base and nothing is unsaved", () => {
  const line = baseline(base({ id: "x" }, { id: "a" }), [live("a")], state);
  const now = [live("a", 2), live("c")];
  const { next, document: made } = compose(line, now, state, {});
  assert.equal(edit(next, now, state).dirty, false);
  assert.deepEqual(compose(next, now, state, {}).document.elements, made.elements);
});

test("a draft is unsaved until it is saved, and its losses are counted against the file", () => {
  const file = base({ id: "a" }, { id: "b" }, { id: "c" });
  const line = baseline(base({ id: "a" }), [live("a")], state, file);
  const made = edit(line, [live("a")], state);
  assert.deepEqual(made, { dirty: true, before: 3, after: 1, lost: 2 });
  assert.ok(shrinks(made));
});

test("a difference counts what a reader of the picture would see", () => {
  const before = base({ id: "a", x: 1 }, { id: "b" }, { id: "t", isDeleted: true });
  const after = base({ id: "a", x: 2 }, { id: "b", isDeleted: true }, { id: "c" });
  assert.deepEqual(difference(before, after), { added: ["c"], changed: ["a"], removed: ["b"] });
});

test("an entry that is no element is named and stops the page before it could lose it", () => {
  assert.throws(() => document({ elements: [{}, null] }), (error) => error instanceof Unreadable && /Entry 1/.test(error.message));
});
