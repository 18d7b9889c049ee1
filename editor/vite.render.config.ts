import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { contents } from "./bundle/contents.ts";
import { exported } from "./bundle/exported.ts";
import { offline } from "./bundle/offline.ts";

const INDEX = fileURLToPath(new URL("node_modules/@excalidraw/excalidraw/dist/prod/index.js", import.meta.url));

export default defineConfig({
  plugins: [offline("render"), exported(INDEX), contents([])],
  define: { "process.env.IS_PREACT": '"false"', "process.env.NODE_ENV": '"production"' },
  build: {
    target: "node20",
    outDir: "countermark_editor/render",
    emptyOutDir: true,
    copyPublicDir: false,
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4000,
    lib: { entry: "render/main.ts", formats: ["es"], fileName: () => "main.mjs" },
    rolldownOptions: { external: /^node:/, output: { chunkFileNames: "[name].mjs" } },
  },
});
