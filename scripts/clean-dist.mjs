/** Empties what a build writes: no build step deletes files, and the whole folder `dist` is published. */
import { rm } from "node:fs/promises";

for (const folder of ["../packages/toolport/dist", "../.cache/declarations"])
  await rm(new URL(folder, import.meta.url), { recursive: true, force: true });
