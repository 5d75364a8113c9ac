/** Empties `dist/` before a build: nothing that writes into it ever deletes, and it is published whole. */
import { rm } from "node:fs/promises";

await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
