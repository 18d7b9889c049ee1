// Looking for a text in all scenes. Names are compared here at once; what stands in the scenes the server answers.
import { useEffect, useMemo, useRef, useState } from "react";
import * as wire from "../wire.ts";
import { plural } from "../words.ts";

const AFTER = 180;

type Shown = { readonly scene: wire.Summary; readonly hits: readonly wire.Hit[] };

export type Searching = {
  readonly text: string;
  readonly wanted: string;
  readonly set: (text: string) => void;
  readonly shown: readonly Shown[];
  /** What was found, in words; null where nothing is looked for. */
  readonly said: string | null;
};

type Answer = wire.Search & { readonly wanted: string; readonly failed: boolean };

export function useSearch(scenes: readonly wire.Summary[] | null): Searching {
  const [text, set] = useState("");
  const [answer, setAnswer] = useState<Answer | null>(null);
  const wanted = text.trim();

  useEffect(() => {
    if (wanted === "") {
      setAnswer(null);
      return undefined;
    }
    let over = false;
    const soon = setTimeout(() => {
      wire.search(wanted).then(
        (found) => over || setAnswer({ ...found, wanted, failed: false }),
        () => over || setAnswer({ hits: [], complete: false, wanted, failed: true }),
      );
    }, AFTER);
    return () => {
      over = true;
      clearTimeout(soon);
    };
    // The folder changed: what was found may be elsewhere now.
  }, [wanted, scenes]);

  return useMemo(() => {
    const all = scenes ?? [];
    if (wanted === "") return { text, wanted, set, shown: all.map((scene) => ({ scene, hits: [] })), said: null };
    const hits = answer?.hits ?? [];
    const low = wanted.toLowerCase();
    const shown = all
      .map((scene) => ({ scene, hits: hits.filter((hit) => hit.scene === scene.name) }))
      .filter(({ scene, hits: here }) => here.length > 0 || scene.name.toLowerCase().includes(low));
    const known = answer?.wanted === wanted;
    const more = known && !answer.complete ? (answer.failed ? " by name alone: the server does not answer" : "; not every place was looked at") : "";
    return { text, wanted, set, shown, said: known ? `${plural(shown.length, "scene")} found${more}` : "Looking…" };
  }, [scenes, text, wanted, answer]);
}

export function SearchField({ search }: { search: Searching }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLElement && event.target.closest("input, select, textarea, dialog");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  return (
    <search className="search">
      <label htmlFor="search">Search</label>
      <input
        id="search"
        ref={field}
        type="search"
        value={search.text}
        placeholder="Names and texts in all scenes"
        autoComplete="off"
        spellCheck={false}
        aria-keyshortcuts="/"
        maxLength={200}
        onChange={(event) => search.set(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") search.set("");
        }}
      />
      <p className="quiet" role="status">
        {search.said}
      </p>
    </search>
  );
}
