// The world that the editor's code finds when it is loaded here. It has to stand before that code is evaluated: the
// editor seeds its random numbers from the clock when its module loads, so the clock is frozen first, at 0, which makes
// it take them from Math.random, and that begins anew with every render.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Document } from "./dom.ts";
import { Widths } from "./widths.ts";

export const ORIGIN = "http://countermark.invalid";
export const SOURCE = "countermark";
const PIECE = /^\/fonts\/([A-Za-z]+\/[\w-]+\.woff2)$/;
const FAMILY = /^-?[A-Za-z_\u0080-\uffff][-\w\u0080-\uffff]*$/;

export const widths = new Widths();
/** What the editor wrote into the console: it draws on where a browser's user would see nothing missing. */
export const complaints: string[] = [];

let seed = 1;
/** Begin the random numbers anew. */
export function reseed(): void {
  seed = 1;
}
/** mulberry32: 32 bits of state, the same numbers everywhere. */
function next(): number {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function scatter(bytes: Uint8Array): Uint8Array {
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = next() * 256;
  return bytes;
}

/** As much of a font face as the export reads; a name that is no plain identifier is quoted, as a browser does. */
class FontFace {
  readonly family: string;
  readonly unicodeRange: string;
  constructor(family: string, _source: string, descriptors: { unicodeRange?: string }) {
    this.family = FAMILY.test(family) ? family : `"${family.replaceAll(/["\\]/g, "\\$&")}"`;
    this.unicodeRange = descriptors.unicodeRange ?? "U+0-10FFFF";
  }
}

/** Folders of fonts laid over each other; nothing else can be fetched. */
function fetching(folders: readonly string[]): (address: URL | string) => Promise<object> {
  const read = new Map<string, Promise<ArrayBuffer>>();
  const piece = async (name: string): Promise<ArrayBuffer> => {
    for (const folder of folders) {
      try {
        const data = await readFile(join(folder, name));
        return new Uint8Array(data).buffer;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
    throw new Error(`the font piece ${name} is not there`);
  };
  return async (address) => {
    const asked = new URL(address);
    const name = asked.origin === ORIGIN ? PIECE.exec(asked.pathname)?.[1] : undefined;
    if (name === undefined) throw new Error(`${asked.href} is not fetched`);
    const data = read.get(name) ?? piece(name);
    read.set(name, data);
    const bytes = await data;
    return { ok: true, arrayBuffer: async () => bytes.slice(0) };
  };
}

function set(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

set("window", globalThis);
set("self", globalThis);
set("location", new URL(`${ORIGIN}/`));
set("navigator", { platform: "", userAgent: "", language: "en" });
set("document", new Document(widths.of));
set("devicePixelRatio", 1);
set("FontFace", FontFace);
set("Path2D", class {}); // a hand-drawn line keeps one for canvases; the export reads its points
set("fetch", fetching(process.argv.slice(2)));
set("crypto", { getRandomValues: scatter });
set("EXCALIDRAW_ASSET_PATH", `${ORIGIN}/`);
set("EXCALIDRAW_EXPORT_SOURCE", SOURCE);
Math.random = next;
Date.now = () => 0;
const complain = (...said: unknown[]): void => {
  complaints.push(said.map((one) => (one instanceof Error ? one.message : String(one))).join(" ").slice(0, 300));
};
console.error = complain;
console.warn = complain;
