// The file format's readers know five image types; what the editor lets a person paste beside them becomes PNG.
import type { Raw } from "./scene.ts";

const PLAIN = /^data:image\/(png|jpeg|gif|webp|svg\+xml);base64,/;

async function png(source: string): Promise<string> {
  const picture = new Image();
  picture.src = source;
  await picture.decode();
  const canvas = globalThis.document.createElement("canvas");
  canvas.width = picture.naturalWidth;
  canvas.height = picture.naturalHeight;
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
  return canvas.toDataURL("image/png");
}

export async function portable(files: { readonly [id: string]: Raw }): Promise<{ [id: string]: Raw }> {
  const done = await Promise.all(
    Object.entries(files).map(async ([id, file]): Promise<[string, Raw]> => {
      if (typeof file.dataURL !== "string" || PLAIN.test(file.dataURL)) return [id, file];
      return [id, { ...file, mimeType: "image/png", dataURL: await png(file.dataURL) }];
    }),
  );
  return Object.fromEntries(done);
}
