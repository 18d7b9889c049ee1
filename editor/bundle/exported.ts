// `virtual:editor-export`: the editor's `exportToSvg`, from the one chunk of the npm package that makes it. The package's
// own index says under which name it stands there; importing the index would bring in the whole page, Mermaid included.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

const NAME = "virtual:editor-export";
const FUNCTION = "exportToSvg";

/** Where the index takes a name from: the chunk's file, and the name there. */
export function origin(index: string, name: string): { chunk: string; exported: string } | null {
  const local = new RegExp(String.raw`[{,]([\w$]+) as ${name}[,}]`).exec(index)?.[1];
  if (local === undefined) return null;
  for (const [, names, chunk] of index.matchAll(/import\{([^}]*)\}from"(\.\/chunk-[^"]+)"/g)) {
    for (const one of (names ?? "").split(",")) {
      const [exported, taken] = one.split(" as ");
      if ((taken ?? exported) === local && exported && chunk) return { chunk, exported };
    }
  }
  return null;
}

export function exported(index: string): Plugin {
  return {
    name: "countermark-exported",
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    load(id) {
      if (id !== `\0${NAME}`) return null;
      const found = origin(readFileSync(index, "utf8"), FUNCTION);
      if (found === null) return this.error(`the editor's package does not say where its ${FUNCTION} is`);
      const file = JSON.stringify(join(dirname(index), found.chunk));
      return `export { ${found.exported} as ${FUNCTION} } from ${file};`;
    },
  };
}
