// The npm editor as it comes, bundled for a browser and nothing replaced: what benchmarks and tests compare with.
// `node bundle/peer.mjs FOLDER` writes FOLDER/peer.js and its chunks; peer.js exports `exportToSvg`.
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const NAME = "virtual:peer";

await build({
  configFile: false,
  root: fileURLToPath(new URL("..", import.meta.url)),
  logLevel: "error",
  base: "/peer/",
  define: { "process.env.IS_PREACT": '"false"', "process.env.NODE_ENV": '"production"' },
  plugins: [
    {
      name: "peer",
      resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
      load: (id) => (id === `\0${NAME}` ? 'export { exportToSvg } from "@excalidraw/excalidraw";' : null),
    },
  ],
  build: {
    target: "es2022",
    outDir: resolve(process.argv[2] ?? "peer"),
    emptyOutDir: true,
    copyPublicDir: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 8000,
    rolldownOptions: {
      input: { peer: NAME },
      preserveEntrySignatures: "strict",
      output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
    },
  },
});
