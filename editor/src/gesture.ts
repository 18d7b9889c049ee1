// When the person's hand is on the canvas, nothing may move under it.
import type { Raw } from "./scene.ts";

/** Not `selectedLinearElement`: it stays set after the gesture. */
const UNDERWAY = [
  "newElement",
  "multiElement",
  "selectionElement",
  "selectedElementsAreBeingDragged",
  "resizingElement",
  "isResizing",
  "isRotating",
  "editingTextElement",
  "editingLinearElement",
  "croppingElementId",
  "isCropping",
  "editingFrame",
  "pendingImageElementId",
] as const;

/** Say whether a gesture is under way, from the editor's own state. */
export function inGesture(state: Raw): boolean {
  if (state.cursorButton === "down") return true;
  if (UNDERWAY.some((field) => Boolean(state[field]))) return true;
  const embed = state.activeEmbeddable as { state?: unknown } | null | undefined;
  return embed?.state === "active";
}
