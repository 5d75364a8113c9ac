/** Builds the console's page for one test file. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";

export async function buildPage(): Promise<{ folder: URL; remove: () => Promise<void> }> {
  const { buildConsole } = await import("../../../scripts/build-console.mjs" as string);
  const path = await mkdtemp(join(tmpdir(), "toolport-console-"));
  await buildConsole(join(path, "page"));
  return {
    folder: pathToFileURL(join(path, "page") + sep),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
