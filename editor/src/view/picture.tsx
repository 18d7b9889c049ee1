// A small picture of one state of a scene: asked for when it comes into sight, in the theme that is shown.
import { useEffect, useRef, useState } from "react";
import { MOST_BYTES, MOST_ELEMENTS, picture } from "../pictures.ts";
import { useTheme } from "../theme.ts";

export type Pictured = { readonly sha256: string; readonly elementCount: number | null; readonly byteLength: number | null };

type Seen = { readonly key: string; readonly url: string | null; readonly words: string };

const tooLarge = ({ elementCount, byteLength }: Pictured): boolean => (elementCount ?? 0) > MOST_ELEMENTS || (byteLength ?? 0) > MOST_BYTES;

/** Beside a name that says what it is, so a reader of screens is told nothing of it. */
export function Small({ of, load }: { of: Pictured; load: () => Promise<unknown> }) {
  const theme = useTheme();
  const place = useRef<HTMLSpanElement>(null);
  const [near, setNear] = useState(false);
  const [seen, setSeen] = useState<Seen | null>(null);
  const key = `${of.sha256}-${theme}`;
  const words = of.elementCount === 0 ? "Empty" : tooLarge(of) ? "Too large for a small picture" : null;

  useEffect(() => {
    const watch = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setNear(true), { rootMargin: "200px" });
    if (place.current) watch.observe(place.current);
    return () => watch.disconnect();
  }, []);

  const how = useRef(load);
  how.current = load;
  useEffect(() => {
    if (!near || words !== null) return undefined;
    const leaving = new AbortController();
    let url: string | null = null;
    picture({ sha256: of.sha256, dark: theme === "dark", load: () => how.current(), signal: leaving.signal }).then(
      (blob) => {
        if (leaving.signal.aborted) return;
        url = blob && URL.createObjectURL(blob);
        setSeen({ key, url, words: blob ? "" : "Empty" });
      },
      () => {
        if (!leaving.signal.aborted) setSeen({ key, url: null, words: "No picture" });
      },
    );
    return () => {
      leaving.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [near, words, of.sha256, theme, key]);

  const now = seen?.key === key ? seen : null;
  return (
    <span className="small" ref={place} aria-hidden="true" data-drawn={now?.url ? "" : undefined}>
      {now?.url ? <img src={now.url} alt="" decoding="async" /> : <span className="none">{words ?? now?.words ?? ""}</span>}
    </span>
  );
}
