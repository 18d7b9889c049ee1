// The editor is fetched while the page's own first script is still on its way, where the address is a scene's: the list
// does not need it. Written into the inline script, since one page serves both and knows the files' names only now.
import type { Plugin } from "vite";

const PLACE = "/* ahead */";
const FIRST = /\/src\/view\/scene\.tsx$/;

export function ahead(): Plugin {
  let base = "/";
  return {
    name: "countermark-ahead",
    apply: "build",
    configResolved(config) {
      base = config.base;
    },
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle }) {
        const files = new Set<string>();
        const add = (file: string): void => {
          const output = bundle?.[file];
          if (files.has(file) || output?.type !== "chunk") return;
          files.add(file);
          output.imports.forEach(add);
        };
        const first = Object.values(bundle ?? {}).find((output) => output.type === "chunk" && FIRST.test(output.facadeModuleId ?? ""));
        if (!first || !html.includes(PLACE)) throw new Error("the page has no scene to fetch ahead, or no place to say so");
        add(first.fileName);
        const list = JSON.stringify([...files].map((file) => base + file));
        return html.replace(
          PLACE,
          `if (location.pathname.startsWith("/s/")) for (const href of ${list}) document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href }));`,
        );
      },
    },
  };
}
