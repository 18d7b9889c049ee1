import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { ahead } from "./bundle/ahead.ts";
import { contents } from "./bundle/contents.ts";
import { FAMILIES, fonts } from "./bundle/fonts.ts";
import { offline } from "./bundle/offline.ts";

const FONTS = fileURLToPath(new URL("node_modules/@excalidraw/excalidraw/dist/prod/fonts", import.meta.url));
// The font-subset program compiles code from text; it runs in a worker that is served with a policy of its own.
const WORKER = /^(?:subset-|rolldown-runtime)/;

export default defineConfig({
  base: "/dsh-excalidraw/assets/",
  plugins: [react(), offline("page"), ahead(), fonts(FONTS), contents([...FAMILIES, "Assistant"])],
  define: {
    "process.env.IS_PREACT": '"false"',
    __BUILD__: JSON.stringify(process.env.COUNTERMARK_BUILD ?? "unstamped"),
  },
  build: {
    target: "es2022",
    outDir: "countermark_editor/dist",
    assetsDir: "page",
    emptyOutDir: true,
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4000,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // In a worker there is no page: what it imports must not be shared with the editor's own chunks.
        codeSplitting: {
          groups: [
            { name: "subset-base", test: /rolldown[/\\]?runtime|chunk-(?:SRAX5OIU|ZUYEQ4TG)\.js/, priority: 2 },
            { name: "subset-program", test: /chunk-EIO257PC\.js/, priority: 1 },
          ],
        },
        chunkFileNames: (chunk) => (WORKER.test(chunk.name) ? "worker/[name]-[hash].js" : "page/[name]-[hash].js"),
      },
    },
  },
});
