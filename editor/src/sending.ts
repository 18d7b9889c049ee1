// What is sent of a scene: one save on its way, made once from what the editor held and sent as often as it needs, always
// as it was; and the question what it and another version come to.
import * as draft from "./draft.ts";
import * as wire from "./wire.ts";
import type { Baseline, Composed } from "./baseline.ts";
import { portable } from "./portable.ts";
import type { Rivals } from "./rivals.ts";
import { document, type Document, type Mark, type Raw } from "./scene.ts";

export type Sent = {
  readonly name: string;
  readonly id: string;
  readonly scene: Raw;
  /** What is sent; null as long as the scene has to be made again first. */
  readonly pending: draft.Pending | null;
  /** The request id under which an empty scene is made, for one that is not there any more. */
  readonly create: string;
  /** The baseline that holds once it has arrived. */
  readonly next: Baseline;
};

/** What is there of a scene that went. */
export const NOTHING = document({});

const whole = ({ elements, appState }: Document, files: Raw): Raw => ({ type: "excalidraw", version: 2, source: "countermark", elements, appState, files });

/** Make a save over one state of the file, which holds `there`; `over` null makes the scene again. */
export async function prepare(name: string, composed: Composed, over: Mark | null, there: Document): Promise<Sent> {
  const files = await portable(draft.freshFiles(composed.document, there));
  const scene = whole(composed.document, files);
  const id = crypto.randomUUID();
  return { name, id, scene, pending: over && wire.saving(scene, over, id), create: crypto.randomUUID(), next: composed.next };
}

/** Make the scene that a save needs, where it needs one, and return the save as it stands on it. */
export async function grounded(sent: Sent): Promise<Sent & { readonly pending: draft.Pending }> {
  if (sent.pending) return { ...sent, pending: sent.pending };
  return { ...sent, pending: wire.saving(sent.scene, await wire.create(sent.name, sent.create), sent.id) };
}

/** Ask what both versions of a scene come to, which began as one revision of it. */
export async function merged(name: string, { base, mine }: Rivals, revision: number, choices: { readonly [id: string]: string }): Promise<wire.Proposal> {
  const files = await portable(draft.freshFiles(mine, base));
  return wire.merge(name, whole(mine, files), { revision, document: whole(base, base.files) }, choices);
}
