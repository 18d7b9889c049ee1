// Run the tests of the pure parts on any Node that builds the page: Vite turns TypeScript into what Node reads.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const folder = fileURLToPath(new URL(".", import.meta.url));
const options = { configFile: false, root: fileURLToPath(new URL("..", import.meta.url)), logLevel: "error" };
for (const file of readdirSync(folder).filter((name) => name.endsWith(".test.ts"))) {
  await runnerImport(`${folder}${file}`, options);
}
