/** Third-party servers: they connect, list and answer over every transport that they support. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, memoryStore, type ServerEntry, type Toolport } from "toolport";
import { Agent, fetch as pooledFetch, type RequestInit as UndiciInit } from "undici";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { programOf, startProgramOnPort } from "../support/program-on-port.js";
import { useServer } from "../support/use-server.js";

let folder: string;
let before: LeakSnapshot;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-real-"));
  before = takeLeakSnapshot();
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await waitForNoLeaks(before);
});

async function withPort(entry: ServerEntry, use: (toolport: Toolport) => Promise<void>): Promise<void> {
  await using toolport = createToolport({ mcpServers: { it: entry } });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({ state: "ready" });
  expect(servers["it"]!.toolCount).toBeGreaterThan(5);
  await use(toolport);
}

/** The checks of the everything server over any transport. */
async function expectEverything(toolport: Toolport): Promise<void> {
  const names = (await toolport.tools()).map(({ sourceName }) => sourceName);
  expect(names).toEqual(expect.arrayContaining(["echo", "get-sum", "get-structured-content"]));
  expect(await toolport.callTool("it__echo", { message: "héllo" })).toMatchObject({
    text: "Echo: héllo",
    isError: false,
    server: "it",
  });
  expect((await toolport.callTool("it__get-sum", { a: 2, b: 40 })).text).toContain("42");
  const weather = await toolport.callTool("it__get-structured-content", { location: "New York" });
  expect(weather.structuredContent).toMatchObject({ temperature: expect.any(Number) });
  // Refused before it is sent, by the schema of the tool.
  await expect(toolport.callTool("it__get-sum", { a: "two" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
  });
  expect(toolport.snapshot().servers["it"]).toMatchObject({
    era: "legacy",
    serverInfo: { name: "mcp-servers/everything" },
  });
  expect(await toolport.ping("it")).toEqual({ ms: expect.any(Number) });
}

describe("server-everything", () => {
  test("over stdio", async () => {
    await withPort(
      { command: process.execPath, args: [programOf("everything"), "stdio"] },
      async (toolport) => {
        await expectEverything(toolport);
        const steps: number[] = [];
        const args = { duration: 0.2, steps: 2 };
        const onProgress = ({ progress }: { progress: number }) => void steps.push(progress);
        await toolport.callTool("it__trigger-long-running-operation", args, { onProgress });
        expect(steps).toEqual([1, 2]);
      },
    );
  });

  test("over Streamable HTTP", async () => {
    await using server = await startProgramOnPort([programOf("everything"), "streamableHttp"]);
    await withPort({ url: `http://127.0.0.1:${server.port}/mcp` }, async (toolport) => {
      await expectEverything(toolport);
      expect(toolport.snapshot().servers["it"]).toMatchObject({ transport: "http" });
    });
  });
});

describe("server-everything over HTTP+SSE", () => {
  const server = useServer(() => startProgramOnPort([programOf("everything"), "sse"]));
  let url: string;
  beforeAll(() => {
    url = `http://127.0.0.1:${server.port}/sse`;
  });

  test("with transport: sse", () => withPort({ transport: "sse", url }, expectEverything));

  test("detected automatically and remembered", async () => {
    const store = memoryStore();
    const requests: string[] = [];
    // A separate pool whose sockets are closed with the test.
    const dispatcher = new Agent();
    const recording = ((input: URL, init: RequestInit = {}) => {
      requests.push(`${init.method ?? "GET"} ${new URL(input).pathname}`);
      return pooledFetch(input, { ...init, dispatcher } as UndiciInit);
    }) as unknown as typeof fetch;
    for (const first of ["POST /sse", "GET /sse"]) {
      requests.length = 0;
      await using toolport = createToolport({ mcpServers: { it: { url } }, store, fetch: recording });
      const { servers } = await toolport.connect();
      expect(servers["it"]).toMatchObject({ state: "ready" });
      expect((await toolport.callTool("it__echo", { message: "hi" })).text).toBe("Echo: hi");
      expect(toolport.snapshot().servers["it"]).toMatchObject({ transport: "sse", era: "legacy" });
      expect(requests[0]).toBe(first);
      expect(requests.filter((request) => request === "GET /sse")).toHaveLength(1);
      expect(requests.includes("POST /sse")).toBe(first === "POST /sse");
    }
    await dispatcher.close();
  });

  test("fails with automaticSSEFallback: false, and the error says why", async () => {
    const it = { url, automaticSSEFallback: false };
    await using toolport = createToolport({ mcpServers: { it } });
    const { servers } = await toolport.connect();
    expect(servers["it"]).toMatchObject({ state: "failed", error: { code: "HTTP_STATUS", status: 404 } });
  });
});

test("server-filesystem reads and writes allowed files only", async () => {
  await writeFile(join(folder, "note.txt"), "a note");
  await withPort({ command: process.execPath, args: [programOf("filesystem"), folder] }, async (toolport) => {
    expect((await toolport.callTool("it__list_directory", { path: folder })).text).toContain("note.txt");
    expect((await toolport.callTool("it__read_text_file", { path: join(folder, "note.txt") })).text).toBe(
      "a note",
    );
    const written = { path: join(folder, "made.txt"), content: "made" };
    expect((await toolport.callTool("it__write_file", written)).isError).toBe(false);
    expect(await readFile(written.path, "utf8")).toBe("made");
    const refused = await toolport.callTool("it__read_text_file", { path: "/etc/hostname" });
    expect(refused.isError).toBe(true);
  });
});

test("server-memory remembers from one start to the next", async () => {
  const entry = {
    command: process.execPath,
    args: [programOf("memory")],
    env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
  };
  await withPort(entry, async (toolport) => {
    const entities = [{ name: "Ada", entityType: "person", observations: ["wrote programs"] }];
    expect((await toolport.callTool("it__create_entities", { entities })).isError).toBe(false);
  });
  await withPort(entry, async (toolport) => {
    const found = await toolport.callTool("it__search_nodes", { query: "Ada" });
    expect(found.text).toContain("wrote programs");
    expect(found.structuredContent).toMatchObject({ entities: [{ name: "Ada" }] });
  });
});
