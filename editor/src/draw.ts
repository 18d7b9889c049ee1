// A picture of a document, by the editor's own code. This module brings the editor along: it is imported when there is
// something to draw, and never waited for.
import { exportToCanvas, getCommonBounds } from "@excalidraw/excalidraw";
import { restored } from "./editor.ts";
import { document } from "./scene.ts";

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

/** What was drawn, and which part of the drawing's plane it shows. */
export type Plate = { readonly blob: Blob; readonly box: Box };

type Options = Parameters<typeof exportToCanvas>[0];
type Element = Options["elements"][number];

const PADDING = 10;
const FRAMES = new Set(["frame", "magicframe"]);

/** Where each element lies, arrows and rotated shapes by what is seen of them. */
export const boxOf = (elements: readonly Element[]): Box => {
  const [left, top, right, bottom] = getCommonBounds(elements);
  return { x: left, y: top, width: right - left, height: bottom - top };
};

export const shown = (scene: unknown): readonly Element[] =>
  restored(document(scene)).filter((element) => !element.isDeleted) as readonly Element[];

/** Draw a scene, its longer side at most so many pixels; null where there is nothing to see. */
export async function draw(scene: unknown, dark: boolean, atMost: number): Promise<Plate | null> {
  const made = document(scene);
  const elements = shown(made);
  if (elements.length === 0) return null;
  const background = made.appState.viewBackgroundColor;
  let size = { width: 0, height: 0 };
  const canvas = await exportToCanvas({
    elements,
    files: made.files as unknown as Options["files"],
    appState: {
      exportBackground: true,
      exportWithDarkMode: dark,
      ...(typeof background === "string" ? { viewBackgroundColor: background } : {}),
    },
    exportPadding: PADDING,
    getDimensions: (width: number, height: number) => {
      size = { width, height };
      const scale = Math.min(2, atMost / Math.max(width, height));
      return { width: width * scale, height: height * scale, scale };
    },
  });
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The browser made no picture of it.");
  // What lies in a frame is cut by it, and a frame's title stands above it.
  const frames = new Set(elements.filter((element) => FRAMES.has(element.type)).map((element) => element.id));
  const roots = boxOf(elements.filter((element) => !element.frameId || !frames.has(element.frameId)));
  const box = { x: roots.x - PADDING, y: roots.y + roots.height + PADDING - size.height, ...size };
  return { blob, box };
}
