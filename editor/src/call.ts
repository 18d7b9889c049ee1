// One call of the server, and every failure of it in one shape.
import { isRaw, type Raw } from "./scene.ts";

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

export async function call(path: string, made: Call = {}): Promise<{ status: number; body: unknown }> {
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
