/** A user's Worker project: it compiles with the real types of the runtime, and needs no package that it does not use. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createWorkerProject, runWorker, type WorkerProject } from "../support/workerd.js";
import { root } from "../tree/source-files.js";

const run = promisify(execFile);
const TYPES = "@cloudflare/workers-types";

let project: WorkerProject;
beforeAll(async () => {
  project = await createWorkerProject([TYPES]);
});
afterAll(() => project?.[Symbol.asyncDispose]());

it("compiles with the packed declarations and the real types of the runtime", async () => {
  const compiled = await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], {
    cwd: project.folder,
  }).catch((error) => error);
  expect(compiled.stdout).toBe("");
}, 60_000);

it("is bundled and runs without the package `ai`, which only `getAITools` needs", async () => {
  const { text, warnings } = await project.bundle();
  expect(warnings).toEqual([]);
  const server = createTestServer({ tools: { ping: { handler: () => "pong" } } });
  const folder = join(project.folder, "objects");
  const worker = await runWorker({ script: text, folder });
  try {
    const { url } = await server.http();
    expect(await worker.rpc("a", "add", "Ping", url)).toMatchObject({ state: "ready" });
    expect(await worker.rpc("a", "call", "ping", {})).toBe("pong");
    await worker.evict("a");
    expect(await worker.rpc("a", "seen")).toEqual({ servers: ["Ping"], tools: ["ping"] });
    await expect(worker.rpc("a", "aiTools")).rejects.toThrow(/package `ai`.*npm install ai/);
  } finally {
    await worker[Symbol.asyncDispose]();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
