// Which packages went into the page: `dist/packages.json`, from the modules that were really bundled. LICENSES is made
// from it, and a test compares the two.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

export type Package = { name: string; version: string; license: string };

function owner(id: string): Package | null {
  let folder = dirname(id);
  while (folder.includes("node_modules")) {
    const file = join(folder, "package.json");
    if (existsSync(file)) {
      const said = JSON.parse(readFileSync(file, "utf8")) as Partial<Package>;
      if (said.name && said.version) return { name: said.name, version: said.version, license: said.license ?? "" };
    }
    folder = dirname(folder);
  }
  return null;
}

export function contents(fonts: readonly string[]): Plugin {
  return {
    name: "countermark-contents",
    apply: "build",
    generateBundle(_options, bundle) {
      const packages = new Map<string, Package>();
      for (const output of Object.values(bundle)) {
        if (output.type !== "chunk") continue;
        for (const id of output.moduleIds) {
          if (!id.includes("node_modules")) continue;
          const found = owner(id.replace(/^\0/, "").split("?")[0] ?? "");
          if (found) packages.set(`${found.name}@${found.version}`, found);
        }
      }
      const listed = [...packages.keys()].sort().map((key) => packages.get(key));
      this.emitFile({
        type: "asset",
        fileName: "packages.json",
        source: `${JSON.stringify({ packages: listed, fonts: [...fonts].sort() }, null, 1)}\n`,
      });
    },
  };
}
