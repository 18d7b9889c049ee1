// The server's HTTP interface: one function a call, answers parsed once, every failure of one shape.
import type { Pending } from "./draft.ts";
import { isRaw, type Mark, type Raw } from "./scene.ts";

export const API = "/dsh-excalidraw/api";

export type Kind =
  | "offline" // no answer, or one that is not the server's: the outcome is unknown
  | "busy"
  | "conflict"
  | "expired"
  | "denied"
  | "missing"
  | "corrupt"
  | "refused";

export type Failure = {
  readonly kind: Kind;
  readonly code: string;
  readonly message: string;
  readonly next: string | null;
  readonly details: Raw;
};

export class Refusal extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

const KINDS: { readonly [code: string]: Kind } = {
  scene_busy: "busy",
  revision_conflict: "conflict",
  permission_denied: "denied",
  already_exists: "conflict",
  not_found: "missing",
  corrupt_scene: "corrupt",
};

export const UNREACHABLE: Failure = {
  kind: "offline",
  code: "offline",
  message: "The server does not answer.",
  next: "Start `countermark serve` again; this page goes on by itself.",
  details: {},
};

function failure(status: number, body: unknown): Failure {
  const error = isRaw(body) && isRaw(body.error) ? body.error : null;
  if (!error || typeof error.code !== "string") {
    return status >= 500
      ? { ...UNREACHABLE, message: `The server answered ${status} and nothing more.` }
      : { ...UNREACHABLE, kind: "refused", code: `http_${status}`, message: `The server answered ${status}.`, next: null };
  }
  const details = isRaw(error.details) ? error.details : {};
  const session = error.code === "permission_denied" && details.reason === "session";
  return {
    kind: session ? "expired" : (KINDS[error.code] ?? "refused"),
    code: error.code,
    message: typeof error.message === "string" ? error.message : error.code,
    next: typeof details.next === "string" ? details.next : null,
    details,
  };
}

type Call = { method?: string; body?: string; headers?: { [name: string]: string }; keepalive?: boolean };

async function call(path: string, made: Call = {}): Promise<{ status: number; body: unknown }> {
  let response: Response;
  try {
    response = await fetch(`${API}${path}`, {
      method: made.method ?? "GET",
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      headers: { Accept: "application/json", ...(made.body ? { "Content-Type": "application/json" } : {}), ...made.headers },
      ...(made.body === undefined ? {} : { body: made.body }),
      ...(made.keepalive ? { keepalive: true } : {}),
    });
    if (response.status === 304) return { status: 304, body: null };
    const body: unknown = await response.json().catch((): null => null);
    if (response.ok && isRaw(body)) return { status: response.status, body };
    // Cut off on its way: whether it was done is unknown.
    if (response.ok) throw new Refusal(UNREACHABLE);
    throw new Refusal(failure(response.status, body));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(UNREACHABLE);
  }
}

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

export const open = async (name: string): Promise<Opened> => opened(await parsed(call(path(name))));

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
