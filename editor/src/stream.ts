// News from the folder: the server's event stream, and looking again where it is down.
import { API } from "./wire.ts";
import { isRaw, type Mark, type Raw } from "./scene.ts";

export type News =
  | { readonly what: "up"; readonly scenes: readonly (Mark & { readonly name: string })[] }
  | { readonly what: "down" }
  | { readonly what: "changed"; readonly name: string; readonly mark: Mark }
  | { readonly what: "removed"; readonly name: string; readonly to: string | null };

const mark = (row: Raw): Mark => ({
  revision: Number(row.revision ?? 0),
  sha256: String(row.sha256 ?? ""),
  by: typeof row.updatedBy === "string" ? row.updatedBy : null,
});

function parsed(event: MessageEvent<string>): Raw {
  const value: unknown = JSON.parse(event.data);
  return isRaw(value) ? value : {};
}

/** Listen until the returned function is called. A stream that ends is opened again, at most every three seconds. */
export function listen(tell: (news: News) => void): () => void {
  let source: EventSource | null = null;
  let again: ReturnType<typeof setTimeout> | undefined;
  let over = false;

  const open = (): void => {
    const made = new EventSource(`${API}/events`);
    source = made;
    made.addEventListener("hello", (event) => {
      const scenes = parsed(event).scenes;
      const rows = Array.isArray(scenes) ? scenes.filter(isRaw) : [];
      tell({ what: "up", scenes: rows.map((row) => ({ ...mark(row), name: String(row.name) })) });
    });
    made.addEventListener("scene", (event) => {
      const row = parsed(event);
      const name = String(row.name);
      if (row.change === "removed") tell({ what: "removed", name, to: typeof row.to === "string" ? row.to : null });
      else tell({ what: "changed", name, mark: mark(row) });
    });
    const lost = (): void => {
      made.close();
      if (over || source !== made) return;
      source = null;
      tell({ what: "down" });
      again = setTimeout(open, 3000 * (0.5 + Math.random() / 2));
    };
    made.addEventListener("bye", lost);
    made.onerror = lost;
  };
  open();
  return () => {
    over = true;
    clearTimeout(again);
    source?.close();
  };
}
