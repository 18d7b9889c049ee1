// The server's HTTP interface: one function a call, answers parsed once.
import { call, Refusal, type Kind } from "./call.ts";
import type { Pending } from "./draft.ts";
import { isRaw, type Mark, type Raw } from "./scene.ts";

export { API, Refusal, UNREACHABLE, type Failure, type Kind } from "./call.ts";

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const count = (value: unknown): number => (typeof value === "number" ? value : 0);
const optional = (value: unknown): string | null => (typeof value === "string" ? value : null);

export type Summary = Mark & {
  readonly name: string;
  readonly elementCount: number;
  readonly byteLength: number;
  readonly updatedAt: string;
  readonly valid: boolean;
  readonly reason: string | null;
};

export type Version = {
  readonly revision: number;
  readonly sha256: string;
  readonly byteLength: number | null;
  readonly elementCount: number | null;
  readonly savedAt: string | null;
  readonly savedBy: string | null;
  readonly current: boolean;
};

export type Opened = { readonly name: string; readonly mark: Mark; readonly updatedAt: string; readonly scene: unknown };

export type Health = {
  readonly version: string;
  readonly drawingsDir: string;
  readonly readOnly: boolean;
  readonly server: string;
};

export const mark = (body: Raw): Mark => ({
  revision: count(body.revision),
  sha256: text(body.sha256),
  by: optional(body.updatedBy),
});

const path = (name: string): string => `/scenes/${encodeURIComponent(name)}`;
const rows = (value: unknown): Raw[] => (Array.isArray(value) ? value.filter(isRaw) : []);
const parsed = async (sent: Promise<{ body: unknown }>): Promise<Raw> => (await sent).body as Raw;
const post = (to: string, body: Raw): Promise<Raw> => parsed(call(to, { method: "POST", body: JSON.stringify(body) }));

export async function health(): Promise<Health> {
  const body = await parsed(call("/health"));
  return {
    version: text(body.version),
    drawingsDir: text(body.drawingsDir),
    readOnly: body.readOnly === true,
    server: text(body.server),
  };
}

export async function list(): Promise<Summary[]> {
  const body = await parsed(call("/scenes"));
  return rows(body.scenes).map((row) => ({
    ...mark(row),
    name: text(row.name),
    elementCount: count(row.elementCount),
    byteLength: count(row.byteLength),
    updatedAt: text(row.updatedAt),
    valid: row.valid !== false,
    reason: optional(row.reason),
  }));
}

function opened(body: Raw): Opened {
  return { name: text(body.name), mark: mark(body), updatedAt: text(body.updatedAt), scene: body.scene };
}

const read = async (name: string): Promise<Opened> => opened(await parsed(call(path(name))));

let ahead: { readonly name: string; readonly answer: Promise<Opened> } | null = null;

/** Ask for a scene before there is anything to show it with; whoever opens it first gets this answer. */
export function foresee(name: string): void {
  ahead = { name, answer: read(name) };
  ahead.answer.catch(() => undefined);
}

export function open(name: string): Promise<Opened> {
  const answer = ahead?.name === name ? ahead.answer : null;
  ahead = null;
  return answer ?? read(name);
}

/** Create an empty scene. One that this same request made before is the same success. */
export async function create(name: string, requestId: string): Promise<Mark> {
  try {
    return mark(await post("/scenes", { name, elements: [], request_id: requestId }));
  } catch (error) {
    const said = error instanceof Refusal ? error.failure : null;
    if (said?.code === "already_exists" && said.details.sameRequest === true) return mark(said.details);
    throw error;
  }
}

/**
 * One save over one state of the file: its base, or what a person chose to overwrite. It names that state's revision and
 * digest and never forces, so sent again at any later time it goes over nothing that nobody saw. The body is text: a
 * retry sends the very same bytes.
 */
export const saving = (scene: Raw, over: Mark, requestId: string): Pending => ({
  body: JSON.stringify({ scene, expected_revision: over.revision, request_id: requestId }),
  from: over.sha256,
});

export async function save(name: string, { body, from }: Pending): Promise<Mark> {
  const headers = { "If-Match": `"${from}"` };
  return { ...mark(await parsed(call(path(name), { method: "PUT", body, headers }))), by: "ui" };
}

export async function history(name: string): Promise<Version[]> {
  const body = await parsed(call(`${path(name)}/history`));
  return rows(body.versions).map((row) => ({
    revision: count(row.revision),
    sha256: text(row.sha256),
    byteLength: typeof row.byteLength === "number" ? row.byteLength : null,
    elementCount: typeof row.elementCount === "number" ? row.elementCount : null,
    savedAt: optional(row.savedAt),
    savedBy: optional(row.savedBy),
    current: row.current === true,
  }));
}

export const version = async (name: string, revision: number): Promise<Opened> =>
  opened(await parsed(call(`${path(name)}/history/${revision}`)));

export async function restore(name: string, revision: number, expected: number, requestId: string): Promise<Mark> {
  return mark(await post(`${path(name)}/restore`, { revision, expected_revision: expected, request_id: requestId }));
}

export async function rename(name: string, { to, expected, id }: Asked): Promise<void> {
  await post(`${path(name)}/rename`, { to, expected_revision: expected, request_id: id });
}

export async function trash(name: string, { expected, id }: Asked): Promise<void> {
  await post(`${path(name)}/trash`, { expected_revision: expected, request_id: id });
}

/** Something that both changed: what each did to it, and what a person can choose. */
export type Dispute = {
  readonly id: string;
  readonly name: string;
  readonly mine: readonly string[];
  readonly theirs: readonly string[];
  readonly choices: readonly string[];
  readonly chosen: string | null;
};

/** What both versions come to; saved over `mark` once it is settled, and only when a person takes it. */
export type Proposal = {
  readonly mark: Mark;
  readonly settled: boolean;
  readonly disputes: readonly Dispute[];
  readonly notes: readonly string[];
  readonly scene: unknown;
};

const sentences = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);

/** Ask what an unsaved scene and the stored one come to; `base` is sent where its revision is not kept any more. */
export async function merge(name: string, scene: Raw, base: { readonly revision: number; readonly document: Raw }, choices: { readonly [id: string]: string }): Promise<Proposal> {
  const ask = (more: Raw): Promise<Raw> => post(`${path(name)}/merge`, { scene, base_revision: base.revision, choices, ...more });
  const body = await ask({}).catch((error: unknown) => {
    if (error instanceof Refusal && error.failure.details.reason === "base") return ask({ base: base.document });
    throw error;
  });
  return {
    mark: mark(body),
    settled: body.settled === true,
    disputes: rows(body.conflicts).map((row) => ({
      id: text(row.id),
      name: text(row.name),
      mine: sentences(row.mine),
      theirs: sentences(row.theirs),
      choices: sentences(row.choices),
      chosen: optional(row.chosen),
    })),
    notes: sentences(body.notes),
    scene: body.scene,
  };
}

/** The person's own shapes, as the folder keeps them; the revision is the file's digest, or `absent`. */
export type Library = { readonly revision: string; readonly items: readonly Raw[] };

export async function library(): Promise<Library> {
  const body = await parsed(call("/library"));
  return { revision: text(body.revision), items: rows(isRaw(body.library) ? body.library.libraryItems : null) };
}

export async function putLibrary(items: readonly Raw[], expected: string): Promise<string> {
  const body = JSON.stringify({ libraryItems: items, expected_revision: expected });
  return text((await parsed(call("/library", { method: "PUT", body }))).revision);
}

/** A scene in the trash; `nameFree` says that nothing has its name now. */
export type Trashed = Mark & {
  readonly id: string;
  readonly name: string;
  readonly elementCount: number;
  readonly byteLength: number;
  readonly at: string;
  readonly nameFree: boolean;
};

export async function trashed(): Promise<Trashed[]> {
  const body = await parsed(call("/trash"));
  return rows(body.trashed).map((row) => ({
    ...mark(row),
    by: optional(row.trashedBy),
    id: text(row.id),
    name: text(row.name),
    elementCount: count(row.elementCount),
    byteLength: count(row.byteLength),
    at: text(row.trashedAt),
    nameFree: row.nameFree !== false,
  }));
}

/** Bring a scene back out of the trash, under the name it had or another; answer with its name. */
export async function untrash(entry: string, { to, id }: Asked): Promise<string> {
  return text((await post(`/trash/${encodeURIComponent(entry)}/restore`, { ...(to ? { to } : {}), request_id: id })).name);
}

/** One line with the text that was looked for in its middle; without an element it is the scene's name. */
export type Hit = {
  readonly scene: string;
  readonly element: string | null;
  readonly before: string;
  readonly match: string;
  readonly after: string;
};

export type Search = { readonly hits: readonly Hit[]; readonly complete: boolean };

export async function search(wanted: string): Promise<Search> {
  const body = await parsed(call(`/search?${new URLSearchParams({ q: wanted }).toString()}`));
  const hits = rows(body.hits).map((row) => ({
    scene: text(row.scene),
    // A label's line is shown by its container: that is what a person sees.
    element: optional(row.container) ?? optional(row.element),
    before: text(row.before),
    match: text(row.match),
    after: text(row.after),
  }));
  return { hits, complete: body.complete !== false };
}

/** One request of a dialog, as it was sent. */
export type Asked = { readonly to: string; readonly expected: number; readonly id: string };

/** The request to send: the last one as it was where its outcome is unknown, else a new one on what is known now. */
export const asking = (open: Asked | null, to: string, expected: number): Asked =>
  open?.to === to ? open : { to, expected, id: crypto.randomUUID() };

/** What stays open after a failure: only what may have been done, or was not because somebody else was writing. */
export const stillOpen = (asked: Asked, kind: Kind): Asked | null => (kind === "offline" || kind === "busy" ? asked : null);

/** Tell the server what this page really did; its evidence never stands in the person's way. */
export function report(event: string, facts: Raw = {}): void {
  const body = JSON.stringify({ event, build: __BUILD__, ...facts });
  call("/editor-status", { method: "POST", body, keepalive: true }).catch(() => undefined);
}
