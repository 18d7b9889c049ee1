// One export: the editor's own, of a document that is in the store.
import { exportToSvg } from "virtual:editor-export";
import { complaints, reseed, widths } from "./world.ts";
import type { Question } from "./widths.ts";

export type Asked = {
  scene: string;
  dark: boolean;
  fonts: boolean;
  embed: boolean;
  background: boolean;
  scale: number;
  padding: number;
};
export type Drawn = { svg: string; complaints: string[] } | { unmeasured: Question[] };
type Item = { type: string; isDeleted?: boolean };
type Scene = { elements: Item[]; appState: Record<string, unknown>; files: Record<string, unknown> };

// What the editor measures while it exports: the titles of frames and the notes of embedded pages.
const MEASURED = new Set(["frame", "magicframe", "embeddable", "iframe"]);
const ADDRESS = /url\(\s*["']?\s*(?!data:|#)/i;

/** Draw, or return the texts whose widths are needed first. */
export async function draw(asked: Asked): Promise<Drawn> {
  const scene = JSON.parse(asked.scene) as Scene;
  const live = scene.elements.filter((one) => !one.isDeleted);
  widths.unknown();
  const some = live.filter((one) => MEASURED.has(one.type));
  if (some.length > 0) {
    await exported(asked, scene, structuredClone(some), false);
    const unmeasured = widths.unknown();
    if (unmeasured.length > 0) return { unmeasured };
  }
  complaints.length = 0;
  const svg = await exported(asked, scene, live, asked.fonts);
  const unmeasured = widths.unknown();
  if (unmeasured.length > 0) return { unmeasured };
  return { svg, complaints: complaints.splice(0) };
}

async function exported(asked: Asked, scene: Scene, elements: Item[], fonts: boolean): Promise<string> {
  reseed();
  const svg = await exportToSvg({
    elements,
    appState: {
      ...scene.appState,
      exportBackground: asked.background,
      exportWithDarkMode: asked.dark,
      exportEmbedScene: asked.embed,
      exportScale: asked.scale,
    },
    files: scene.files,
    exportPadding: asked.padding,
    skipInliningFonts: !fonts,
  });
  return svg.outerHTML;
}

/** Whether the text of an SVG's style sheet names a font anywhere but inside the file. */
export function reaches(svg: string): boolean {
  const sheet = /<style class="style-fonts">([^]*?)<\/style>/.exec(svg)?.[1] ?? "";
  return ADDRESS.test(sheet);
}
