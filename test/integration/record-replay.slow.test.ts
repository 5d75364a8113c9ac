/** Recorded sessions of real servers, replayed without them: the same results through the public API. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, type Progress, type ServerEntry, type Toolport } from "toolport";
import { createTestServer, readRecording, recordServer, replayServer } from "toolport/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { programOf, startProgramOnPort } from "../support/program-on-port.js";
import { waitFor } from "../support/wait-for.js";

const program = programOf("everything");

let before: LeakSnapshot;
let folder: string;
beforeEach(async () => {
  before = takeLeakSnapshot();
  folder = await mkdtemp(join(tmpdir(), "toolport-record-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
  await waitForNoLeaks(before);
});

/** Everything that a user can read from a server. */
async function walk(entry: ServerEntry) {
  const progress: Progress[] = [];
  const sampled: unknown[] = [];
  await using toolport = createToolport({
    mcpServers: { every: entry },
    onServerError: "throw",
    roots: [{ uri: "file:///srv/one", name: "one" }],
    onSampling: (request) => {
      sampled.push(request.messages);
      return { role: "assistant", model: "none", content: { type: "text", text: "Well said" } };
    },
  });
  await toolport.connect();
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { text, content, structuredContent, isError } = await toolport.callTool(`every__${name}`, args, {
      onProgress: (report) => progress.push(report),
    });
    return { text, content, structuredContent, isError };
  };
  const { servers } = toolport.snapshot();
  return {
    version: servers["every"]?.protocolVersion,
    info: servers["every"]?.serverInfo,
    instructions: await toolport.instructions(),
    tools: await toolport.tools(),
    calls: [
      await call("echo", { message: "one" }),
      await call("get-sum", { a: 2, b: 40 }),
      await call("get-tiny-image"),
      await call("get-structured-content", { location: "New York" }),
      await call("trigger-long-running-operation", { duration: 0.2, steps: 4 }),
      await call("trigger-sampling-request", { prompt: "Say something", maxTokens: 10 }),
      ...(await Promise.all(["a", "b", "c"].map((message) => call("echo", { message })))),
    ],
    refused: await toolport.callTool("every__get-sum", { a: "x" }).catch(({ code }) => code),
    resources: await toolport.resources(),
    templates: await toolport.resourceTemplates(),
    read: await toolport.readResource("every", "demo://resource/static/document/features.md"),
    prompts: await toolport.prompts(),
    prompt: await toolport.getPrompt("every", "args-prompt", { city: "Oslo", state: "Norway" }),
    progress,
    sampled,
  };
}

async function expectSame(entry: ServerEntry): Promise<Awaited<ReturnType<typeof walk>>> {
  const file = join(folder, "every.ndjson");
  const recorded = await walk(recordServer(entry, file));
  const replayed = await walk(replayServer(file));
  expect(replayed).toEqual(recorded);
  return recorded;
}

describe("the reference server", () => {
  test("over stdio gives the same results offline", async () => {
    const recorded = await expectSame({ command: process.execPath, args: [program, "stdio"] });
    expect(recorded.tools.length).toBeGreaterThan(10);
    expect(recorded.calls[0]).toMatchObject({ text: "Echo: one" });
    expect(recorded.progress.length).toBeGreaterThanOrEqual(4);
    expect(recorded.sampled).toHaveLength(1);
    const { era, transport } = await readRecording(join(folder, "every.ndjson"));
    expect({ era, transport }).toEqual({ era: "legacy", transport: "stdio" });
  });

  test("over HTTP gives the same results offline", async () => {
    await using server = await startProgramOnPort([program, "streamableHttp"]);
    const recorded = await expectSame({ url: `http://127.0.0.1:${server.port}/mcp` });
    expect(recorded.calls[0]).toMatchObject({ text: "Echo: one" });
    expect(recorded.sampled).toHaveLength(1);
    expect((await readRecording(join(folder, "every.ndjson"))).transport).toBe("http");
  });
});

test("a server behind OAuth is recorded with the login of the port, and no token is written to the file", async () => {
  await using bench = await startOAuthBench();
  const file = join(folder, "vault.ndjson");
  {
    const mcpServers = { a: recordServer({ url: bench.url }, file) };
    await using toolport = createToolport({ mcpServers, callbackUrl: CALLBACK_URL });
    const { authUrl } = (await toolport.connect()).servers["a"]!;
    await toolport.finishAuth("a", (await logIn(authUrl as string)).searchParams);
    expect((await toolport.callTool("a__whoami")).text).toBe("ada");
  }
  const text = await readFile(file, "utf8");
  for (const secret of bench.secrets.values()) expect(text).not.toContain(secret);
  expect(bench.secrets.size).toBeGreaterThan(2);
  await using toolport = createToolport({ mcpServers: { a: replayServer(file) } });
  expect((await toolport.callTool("a__whoami")).text).toBe("ada");
});

describe.each(["legacy", "modern"] as const)("the %s era", (era) => {
  const definition = () => {
    let count = 0;
    return {
      era,
      tools: {
        count: { handler: () => String(++count) },
        greet: { handler: ({ name }: Record<string, unknown>) => `Hello ${name}` },
        fail: { handler: () => Promise.reject(new Error("No")) },
      },
      resources: { "shop://terms": { text: "No refunds" } },
    };
  };
  const readText = (toolport: Toolport, tool: string, args = {}) =>
    toolport.callTool(`it__${tool}`, args).then(({ text }) => text);

  test("answers by method and parameters, in any order, and repeats the last answer", async () => {
    await using server = createTestServer(definition());
    const file = new URL(`file://${join(folder, "deep", "it.ndjson")}`);
    {
      await using toolport = createToolport({ mcpServers: { it: recordServer(server.memory(), file) } });
      for (const name of ["Ada", "Bob"]) await readText(toolport, "greet", { name });
      for (let n = 0; n < 3; n++) await readText(toolport, "count");
      expect(await toolport.callTool("it__fail")).toMatchObject({ isError: true });
    }
    const recording = await readRecording(file);
    expect(recording.era).toBe(era);
    const calls = server.calls.length;
    for (const entry of [replayServer(file), replayServer(recording)]) {
      await using toolport = createToolport({ mcpServers: { it: entry } });
      expect((await toolport.connect()).servers["it"]).toMatchObject({ state: "ready", toolCount: 3 });
      expect(toolport.snapshot().servers["it"]).toMatchObject({ era });
      expect(await readText(toolport, "count")).toBe("1");
      expect(await readText(toolport, "greet", { name: "Bob" })).toBe("Hello Bob");
      expect(await readText(toolport, "greet", { name: "Ada" })).toBe("Hello Ada");
      const rest = [];
      for (let n = 0; n < 4; n++) rest.push(await readText(toolport, "count"));
      expect(rest).toEqual(["2", "3", "3", "3"]);
      expect(await toolport.callTool("it__fail")).toMatchObject({ isError: true, text: expect.any(String) });
      await toolport.ping("it");
      await expect(readText(toolport, "greet", { name: "Eve" })).rejects.toMatchObject({
        code: "PROTOCOL",
        rpcCode: -32602,
        message: expect.stringContaining('not with {"name":"greet","arguments":{"name":"Eve"}}'),
      });
      await expect(toolport.readResource("it", "shop://terms")).rejects.toMatchObject({ rpcCode: -32601 });
    }
    expect(server.calls).toHaveLength(calls);
  });

  test("replays a list change at the same point", async () => {
    await using server = createTestServer(definition());
    const file = join(folder, "changes.ndjson");
    const names = async (toolport: Toolport) => (await toolport.tools()).map(({ sourceName }) => sourceName);
    {
      await using toolport = createToolport({ mcpServers: { it: recordServer(server.memory(), file) } });
      expect(await names(toolport)).toEqual(["count", "greet", "fail"]);
      // Wait until the server has a listening client.
      await readText(toolport, "greet", { name: "Ada" });
      if (era === "modern")
        await waitFor(async () => (await readFile(file, "utf8")).includes("/acknowledged"));
      await readText(toolport, "count");
      await server.update({ tools: { other: { handler: () => "other" } } });
      await waitFor(async () => (await names(toolport)).includes("other"));
      await readText(toolport, "other");
    }
    await using toolport = createToolport({ mcpServers: { it: replayServer(file) } });
    expect(await names(toolport)).toEqual(["count", "greet", "fail"]);
    await readText(toolport, "greet", { name: "Ada" });
    expect(await names(toolport)).toHaveLength(3);
    await readText(toolport, "count");
    await waitFor(async () => (await names(toolport)).join() === "other");
    expect(await readText(toolport, "other")).toBe("other");
  });

  test("replays the original delays on request", async () => {
    await using server = createTestServer({
      era,
      tools: { slow: { handler: () => new Promise((resolve) => setTimeout(resolve, 300, "done")) } },
    });
    const file = join(folder, "slow.ndjson");
    {
      await using toolport = createToolport({ mcpServers: { it: recordServer(server.memory(), file) } });
      await readText(toolport, "slow");
    }
    const took: number[] = [];
    for (const speed of [0, 1]) {
      await using toolport = createToolport({ mcpServers: { it: replayServer(file, { speed }) } });
      await toolport.connect();
      const startedAt = performance.now();
      expect(await readText(toolport, "slow")).toBe("done");
      took.push(performance.now() - startedAt);
    }
    expect(took[1]).toBeGreaterThan(250);

    // An abort ends it at once, and leaves nothing behind.
    await using toolport = createToolport({ mcpServers: { it: replayServer(file, { speed: 0.1 }) } });
    const limit = { timeoutMs: 100 };
    const failure = await toolport
      .connect()
      .then(() => toolport.callTool("it__slow", {}, limit))
      .catch((e) => e);
    expect(failure).toMatchObject({ code: "TIMEOUT" });
  });
});
