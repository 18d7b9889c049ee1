import assert from "node:assert/strict";
import { test } from "node:test";
import { freshFiles, resendable, usedFiles } from "../src/draft.ts";
import { document } from "../src/scene.ts";
import { asking, saving, stillOpen, type Kind } from "../src/wire.ts";

const shown = { revision: 5, sha256: "a".repeat(64), by: "agent" };

test("a save names the one state it may replace and never forces, so it may be sent again at any time", () => {
  const pending = saving({ elements: [] }, shown, "id-1");
  assert.deepEqual(JSON.parse(pending.body), { scene: { elements: [] }, expected_revision: 5, request_id: "id-1" });
  assert.equal(pending.from, shown.sha256);
  assert.ok(resendable(pending));
});

test("a kept save that forces or names no state is not sent again", () => {
  const { body, from } = saving({}, shown, "id-1");
  assert.ok(!resendable({ body: JSON.stringify({ ...JSON.parse(body), force: true }), from }));
  assert.ok(!resendable({ body, from: null as unknown as string }));
  assert.ok(!resendable(null));
});

test("every picture in use travels that the state to be saved over does not hold", () => {
  const picture = (id: string, data = id) => ({ id, dataURL: `data:image/png;base64,${data}` });
  const mine = document({ elements: [{ fileId: "a" }, { fileId: "b", isDeleted: true }], files: { a: picture("a"), b: picture("b"), loose: picture("c") } });
  assert.deepEqual(Object.keys(usedFiles(mine)), ["a", "b"]);
  assert.deepEqual(Object.keys(freshFiles(mine, mine)), []);
  assert.deepEqual(Object.keys(freshFiles(mine, document({ files: { a: picture("a") } }))), ["b"]);
  assert.deepEqual(Object.keys(freshFiles(mine, document({ files: { a: picture("a", "other"), b: picture("b") } }))), ["a"]);
});

test("a request whose outcome is unknown is sent again as it was; any other is a new one on what is known now", () => {
  const first = asking(null, "b", 1);
  for (const kind of ["offline", "busy"] as const) assert.deepEqual(asking(stillOpen(first, kind), "b", 7), first);
  for (const kind of ["conflict", "denied", "expired", "missing", "corrupt", "refused"] satisfies Kind[]) {
    const next = asking(stillOpen(first, kind), "b", 7);
    assert.notEqual(next.id, first.id);
    assert.equal(next.expected, 7);
  }
  assert.notEqual(asking(first, "c", 1).id, first.id);
});
