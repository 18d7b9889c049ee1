// What the npm bundle would load from elsewhere, or run, is replaced while the page is built. Each replacement has to
// match exactly once: another version of the editor that moved the place stops the build instead of slipping through.
import type { Plugin } from "vite";

type Replacement = { why: string; find: RegExp; by: string; pageOnly?: true };

export const REPLACEMENTS: readonly Replacement[] = [
  {
    why: "the last source of every font face is a public CDN; ours is our own origin",
    find: /`https:\/\/esm\.sh\/\$\{(?:[^`]|`[^`]*`)*?\}\/dist\/prod\/`/g,
    by: 'new URL("/dsh-excalidraw/assets/",globalThis.location?.origin??"http://localhost").toString()',
  },
  {
    why: "an embeddable is drawn as a link and an iframe element as a note: no frame of a scene is ever made",
    find: /\((\w+)\((\w+)\)\?this\.props\.renderEmbeddable\?\.\(\2,this\.state\):null\)\?\?(\w+)\("iframe",/g,
    by: 'this.props.renderEmbeddable?.($2,this.state)??$3("div",',
    pageOnly: true,
  },
  {
    why: "a font-subset worker is given up after a second, and the page would be held up instead on a busy machine",
    find: /this\.workerTTL=(\w+)\.ttl\|\|1e3/g,
    by: "this.workerTTL=$1.ttl||2e4",
  },
];

const OURS = /@excalidraw\/excalidraw\/dist\/prod\/[^/]+\.js$/;

export function offline(part: "page" | "render"): Plugin {
  const wanted = REPLACEMENTS.filter((one) => part === "page" || !one.pageOnly);
  const found = new Map<Replacement, number>();
  return {
    name: "countermark-offline",
    enforce: "pre",
    apply: "build",
    buildStart() {
      found.clear();
    },
    transform(code, id) {
      if (!OURS.test(id.split("?")[0] ?? "")) return null;
      let changed = code;
      for (const replacement of wanted) {
        const times = [...changed.matchAll(replacement.find)].length;
        if (times === 0) continue;
        found.set(replacement, (found.get(replacement) ?? 0) + times);
        changed = changed.replace(replacement.find, replacement.by);
      }
      return changed === code ? null : { code: changed, map: null };
    },
    buildEnd(error) {
      if (error) return;
      for (const replacement of wanted) {
        const times = found.get(replacement) ?? 0;
        if (times !== 1) this.error(`the editor's bundle has ${times} places instead of one where ${replacement.why}`);
      }
    },
  };
}
