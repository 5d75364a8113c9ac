/** Empties `dist/` before a build: no build step deletes files, and the whole folder is published. */
import { rm } from "node:fs/promises";

await rm(new URL("../packages/toolport/dist", import.meta.url), { recursive: true, force: true });
