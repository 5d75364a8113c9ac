/** A user's Worker project: it compiles with the real types of the runtime, and requires no package that it does not use. */
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createWorkerProject, openMiniflare, runWorker, type WorkerProject } from "../support/workerd.js";
import { root } from "../tree/source-files.js";

const run = promisify(execFile);
const TYPES = "@cloudflare/workers-types";
const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

let project: WorkerProject;
beforeAll(async () => {
  project = await createWorkerProject([TYPES]);
  await writeFile(join(project.folder, "sealed-worker.ts"), await sealedWorker());
});
afterAll(() => project?.[Symbol.asyncDispose]());

it("compiles with the packed declarations and the real types of the runtime", async () => {
  const compiled = await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], {
    cwd: project.folder,
  }).catch((error) => error);
  expect(compiled.stdout).toBe("");
});

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

/** The example of docs/agents.md with its own key, as a Worker that adds a server and returns its stored records. */
async function sealedWorker(): Promise<string> {
  const page = await readFile(join(root, "docs/agents.md"), "utf8");
  const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text ?? "");
  const [example, ...others] = blocks.filter((text) => text.includes("class Sealed"));
  expect(others).toEqual([]);
  return `${example}
export class Shown extends Sealed {
  async show(url: string): Promise<{ sealed: boolean | null; rows: string }> {
    await this.addMcpServer("Ping", url);
    const rows = this.ctx.storage.sql.exec("SELECT * FROM toolport_records").toArray();
    return { sealed: this.mcp.toolport.snapshot().sealed, rows: JSON.stringify(rows) };
  }
}
export default {
  async fetch(request: Request, env: { Shown: DurableObjectNamespace<Shown> }): Promise<Response> {
    return Response.json(await env.Shown.getByName("a").show(new URL(request.url).searchParams.get("url") ?? ""));
  },
};
`;
}

it("runs the documented example with its own key", async () => {
  const { text } = await project.bundle("sealed-worker.ts");
  const server = createTestServer({ tools: { ping: { handler: () => "pong" } } });
  const miniflare = await openMiniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: text }],
    durableObjects: { Shown: { className: "Shown", useSQLite: true } },
    bindings: { STORE_KEY: KEY },
  });
  try {
    const { url } = await server.http();
    const answer = await miniflare.dispatchFetch(`http://localhost/?url=${url}?apiKey=k-4711`);
    const { sealed, rows } = (await answer.json()) as { sealed: boolean; rows: string };
    expect(sealed).toBe(true);
    expect(rows).toContain("agents/");
    expect(rows).not.toMatch(new RegExp(`k-4711|${KEY}`));
  } finally {
    await miniflare.dispose();
    await server.close();
  }
});
