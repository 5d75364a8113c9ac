/** Removes files from `dist/` whose source is gone, after the compiler ran: tsc never deletes, and dist is published whole. */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

for (const file of await readdir(dist, { recursive: true })) {
  const stem = file.match(/^(.*?)(\.d\.ts|\.js|\.js\.map)$/)?.[1];
  if (stem !== undefined && !existsSync(join(root, "src", `${stem}.ts`))) await rm(join(dist, file));
}
