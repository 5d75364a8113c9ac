/** Copies the pages that are published with the package into `packages/toolport`, where git ignores them. */
import { cp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const published = join(root, "packages/toolport");
const { files } = JSON.parse(await readFile(join(published, "package.json"), "utf8"));

for (const path of files.filter((name) => !/^!|^dist/.test(name))) {
  await rm(join(published, path), { recursive: true, force: true });
  await cp(join(root, path), join(published, path), { recursive: true });
}
