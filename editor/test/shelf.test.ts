import assert from "node:assert/strict";
import { test } from "node:test";
import { joined } from "../src/shelf.ts";

const items = (...ids: string[]): { id: string }[] => ids.map((id) => ({ id }));
const ids = (made: readonly { readonly [key: string]: unknown }[]): unknown[] => made.map((item) => item.id);

test("two windows that add to one library have both, and what one removed stays away", () => {
  assert.deepEqual(ids(joined(items("a", "b"), items("c", "a", "b"), items("d", "a", "b"))), ["c", "d", "a", "b"]);
  assert.deepEqual(ids(joined(items("a", "b"), items("a"), items("d", "a", "b"))), ["d", "a"]);
  assert.deepEqual(ids(joined(items("a", "b"), items("c", "a", "b"), items("b"))), ["c", "b"]);
});

test("an item that both have is the folder's own", () => {
  const [mine, theirs] = [{ id: "a", elements: [1] }, { id: "a", elements: [1.0], kept: true }];
  assert.deepEqual(joined([], [mine], [theirs]), [theirs]);
});
