/** Unusual agents in workerd: without SQL storage, or with their own start method. */
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createWorkerProject,
  type Miniflare,
  openMiniflare,
  type WorkerProject,
} from "../support/workerd.js";

let project: WorkerProject;
let server: TestServer;
let miniflare: Miniflare;

beforeAll(async () => {
  project = await createWorkerProject([]);
  server = createTestServer({ tools: { ping: { handler: () => "pong" } } });
  const { text } = await project.bundle("edges-worker.ts");
  miniflare = await openMiniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: text }],
    durableObjects: { NoSql: { className: "NoSql" }, Starting: { className: "Starting", useSQLite: true } },
    bindings: { server: (await server.http()).url },
  });
});
afterAll(async () => {
  await miniflare?.dispose();
  await server?.close();
  await project?.[Symbol.asyncDispose]();
});

const ask = async (path: string) => (await miniflare.dispatchFetch(`http://localhost${path}`)).json();

it("works without SQL storage, with its servers in memory", async () => {
  expect(await ask("/no-sql")).toEqual({ names: ["Kept in memory"] });
});

it("fails the event whose start failed, and starts again with the next; RPC waits for servers that the start adds", async () => {
  expect(await ask("/starting")).toEqual({ error: expect.stringContaining("The first start fails") });
  expect(await ask("/starting")).toEqual({ names: ["Added at the start"] });
});
