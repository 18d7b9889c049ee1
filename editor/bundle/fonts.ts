// The fonts that only the page has: CJK. The Latin pieces stand in the Python package (the measurer reads the same
// files), and the server lays the two folders over each other; Assistant goes with the style sheet.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

export const FAMILIES = ["Xiaolai"] as const;

export function fonts(source: string): Plugin {
  return {
    name: "countermark-fonts",
    apply: "build",
    generateBundle() {
      for (const family of FAMILIES) {
        const files = readdirSync(join(source, family)).filter((name) => name.endsWith(".woff2"));
        if (files.length === 0) this.error(`the editor's package has no font files of ${family}`);
        for (const name of files) {
          this.emitFile({
            type: "asset",
            fileName: `fonts/${family}/${name}`,
            source: readFileSync(join(source, family, name)),
          });
        }
      }
    },
  };
}
