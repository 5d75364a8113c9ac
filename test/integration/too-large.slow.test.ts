/** A response over the size limit fails only its own call, on every transport. */
import { type ConnectionError, createToolport, type ServerEntry } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";

const MIB = 1024 * 1024;
const TOO_LARGE = 64 * MIB;
const LEAN = "test/fixtures/servers/stdio-lean.mjs";

const tools = {
  big: { handler: ({ bytes }: { bytes?: unknown }) => "x".repeat(Number(bytes)) },
  echo: { handler: ({ text }: { text?: unknown }) => String(text) },
};

/** Runs with a server entry whose server has `big` and `echo`. */
type WithEntry = (run: (entry: ServerEntry) => Promise<void>) => Promise<void>;

const overHttp =
  (era: "legacy" | "modern"): WithEntry =>
  async (run) => {
    await using server = createTestServer({ era, tools });
    await run({ url: (await server.http()).url });
  };

const transports: Record<string, WithEntry> = {
  stdio: (run) => run({ command: process.execPath, args: [LEAN] }),
  "legacy HTTP": overHttp("legacy"),
  "modern HTTP": overHttp("modern"),
  "HTTP+SSE": async (run) => {
    await using server = createTestServer({ tools });
    await run((await server.sse()).entry);
  },
  WebSocket: async (run) => {
    await using server = createTestServer({ tools });
    await run((await server.webSocket()).entry);
  },
  memory: async (run) => {
    await using server = createTestServer({ tools });
    await run(server.memory());
  },
};

describe.each(Object.keys(transports))("over %s", (name) => {
  test("64 MB fail that call with MESSAGE_TOO_LARGE, and the next call works", async () => {
    await transports[name]!(async (entry) => {
      await using toolport = createToolport({ mcpServers: { it: entry } });
      await toolport.connect();
      const error = await toolport.callTool("it__big", { bytes: TOO_LARGE }).then(
        () => undefined,
        (reason: ConnectionError) => reason,
      );
      expect(error).toMatchObject({ name: "ConnectionError", code: "MESSAGE_TOO_LARGE", server: "it" });
      expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
    });
  });

  test("9.9 MiB pass", async () => {
    await transports[name]!(async (entry) => {
      await using toolport = createToolport({ mcpServers: { it: entry } });
      const bytes = Math.floor(9.9 * MIB);
      expect((await toolport.callTool("it__big", { bytes })).text).toHaveLength(bytes);
    });
  });
});

test("maxMessageBytes moves the cap", async () => {
  const it = { command: process.execPath, args: [LEAN] };
  await using toolport = createToolport({ mcpServers: { it }, maxMessageBytes: 100_000 });
  await expect(toolport.callTool("it__big", { bytes: 200_000 })).rejects.toMatchObject({
    code: "MESSAGE_TOO_LARGE",
  });
  expect((await toolport.callTool("it__big", { bytes: 50_000 })).text).toHaveLength(50_000);
});

test("over stdio a large response does not affect another call in flight", async () => {
  const it = { command: process.execPath, args: [LEAN] };
  await using toolport = createToolport({ mcpServers: { it } });
  await toolport.connect();
  const neighbour = toolport.callTool("it__slow", { ms: 400 });
  await expect(toolport.callTool("it__big", { bytes: TOO_LARGE })).rejects.toMatchObject({
    code: "MESSAGE_TOO_LARGE",
  });
  expect((await neighbour).text).toBe("done");
});
