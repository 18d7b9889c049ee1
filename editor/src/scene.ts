// The shapes that travel between the page, the editor and the server.

/** A JSON object whose fields nobody promised; what the file holds passes through untouched. */
export type Raw = { readonly [key: string]: unknown };

/** One whole `.excalidraw` document as the server gave it. */
export type Document = {
  readonly elements: readonly Raw[];
  readonly appState: Raw;
  readonly files: { readonly [id: string]: Raw };
};

/** Which state of the file something was made from. */
export type Mark = { readonly revision: number; readonly sha256: string; readonly by: string | null };

/** One element of the editor, as far as the page looks into it. */
export type Live = {
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly versionNonce: number;
  readonly isDeleted: boolean;
  readonly fileId?: string | null;
};

export const isRaw = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The scene cannot be shown; the message says which part of it. */
export class Unreadable extends Error {}

/** Read a scene: what is missing is empty; an entry that is no element stops it, since no save could keep it. */
export function document(scene: unknown): Document {
  const raw = isRaw(scene) ? scene : {};
  const files = isRaw(raw.files) ? raw.files : {};
  const elements: unknown[] = Array.isArray(raw.elements) ? raw.elements : [];
  const at = elements.findIndex((element) => !isRaw(element));
  if (at >= 0) throw new Unreadable(`Entry ${at} of its elements is no element.`);
  return {
    elements: elements as Raw[],
    appState: isRaw(raw.appState) ? raw.appState : {},
    files: Object.fromEntries(Object.entries(files).filter((entry): entry is [string, Raw] => isRaw(entry[1]))),
  };
}

export const sameMark = (one: Mark, other: Mark): boolean =>
  one.revision === other.revision && one.sha256 === other.sha256;

/** The first 12 hex of a digest, as every surface shows it. */
export const short = (sha256: string): string => sha256.slice(0, 12);
