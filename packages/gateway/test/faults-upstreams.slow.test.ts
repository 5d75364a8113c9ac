/** Faults of the servers behind a gateway: down, without login, dead, silent, forgetful, or with wrong responses. */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/client";
import { createTestServer, type TestHttpServer, type TestToolContext } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { openGateway } from "./gateway-scene.js";
import { countingServer, TOOLS } from "./support/counting-server.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

const LEAN = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const OK = { content: [{ text: "ok" }] };
const ERAS = ["modern", "legacy"] as const;
const failureOf = (result: unknown) =>
  (result as { _meta?: Record<string, unknown> })._meta?.["toolport/error"];
const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

/** Listens for changes of the list of tools. */
async function toolChanges(client: Client, era: (typeof ERAS)[number]): Promise<() => number> {
  let count = 0;
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    count += 1;
  });
  if (era === "modern") await client.listen({ toolsListChanged: true });
  return () => count;
}

describe("G01 a server is down or without login at the start", () => {
  test("lists answer without it; when it is back, clients of both eras are notified", async () => {
    await using good = await countingServer(TOOLS);
    await using bad = await countingServer(TOOLS);
    bad.status = 503;
    await using scene = await openGateway({ mcpServers: { good: { url: good.url }, bad: { url: bad.url } } });
    const listening: { client: Client; changes: () => number; before: number }[] = [];
    for (const era of ERAS) {
      const client = await scene.client(era);
      const changes = await toolChanges(client, era);
      expect(await namesOf(client)).toEqual(["good__echo"]);
      const failed = await client.callTool({ name: "bad__echo", arguments: {} });
      expect(failed.isError).toBe(true);
      expect(failureOf(failed)).toMatchObject({ outcome: "unsent" });
      listening.push({ client, changes, before: changes() });
    }
    bad.status = undefined;
    for (const { client, changes, before } of listening) {
      await waitFor(() => changes() > before, { label: "a notice" });
      expect(await namesOf(client)).toEqual(["good__echo", "bad__echo"]);
      expect(await client.callTool({ name: "bad__echo", arguments: {} })).toMatchObject(OK);
    }
  });

  test("a server that refuses connections costs only its own tools", async () => {
    await using good = await countingServer(TOOLS);
    await using gone = await countingServer(TOOLS);
    const { url } = gone;
    await gone.server.close();
    await using scene = await openGateway({ mcpServers: { good: { url: good.url }, gone: { url } } });
    const client = await scene.client("modern");
    expect(await namesOf(client)).toEqual(["good__echo"]);
    expect(await client.callTool({ name: "good__echo", arguments: {} })).toMatchObject(OK);
  });

  test.each(ERAS)("a server without login costs a %s client only its tools", async (era) => {
    await using good = await countingServer(TOOLS);
    await using locked = createTestServer(TOOLS);
    const { url } = await locked.http({
      intercept: () => new Response("", { status: 401, headers: { "www-authenticate": "Bearer" } }),
    });
    await using scene = await openGateway({ mcpServers: { good: { url: good.url }, locked: { url } } });
    const client = await scene.client(era);
    expect(await namesOf(client)).toContain("good__echo");
    expect(await client.callTool({ name: "good__echo", arguments: {} })).toMatchObject(OK);
    const failed = await client.callTool({ name: "locked__echo", arguments: {} });
    expect(failureOf(failed)).toMatchObject({ outcome: "unsent" });
  });
});

describe("G02 a server dies in a call", () => {
  test.each(ERAS)("a %s client learns that the outcome is unknown; the call is not repeated", async (era) => {
    await using good = await countingServer(TOOLS);
    let bad!: TestHttpServer;
    await using server = createTestServer({
      tools: {
        die: {
          handler() {
            bad.dropConnections();
            return new Promise<never>(() => {});
          },
        },
        echo: { handler: () => "ok" },
      },
    });
    bad = await server.http();
    await using scene = await openGateway({ mcpServers: { good: { url: good.url }, bad: { url: bad.url } } });
    const client = await scene.client(era);
    const [died, other] = await Promise.all([
      client.callTool({ name: "bad__die", arguments: {} }),
      client.callTool({ name: "good__echo", arguments: {} }),
    ]);
    expect(other).toMatchObject(OK);
    expect(died.isError).toBe(true);
    expect(failureOf(died)).toMatchObject({ outcome: "unknown" });
    expect(await client.callTool({ name: "bad__echo", arguments: {} })).toMatchObject(OK);
    expect(server.calls.filter(({ name }) => name === "die")).toHaveLength(1);
  });

  test("a process that kills itself: unknown, not repeated, and the next call starts it again", async () => {
    await using good = await countingServer(TOOLS);
    await using scene = await openGateway({
      mcpServers: { good: { url: good.url }, bad: { command: process.execPath, args: [LEAN] } },
    });
    const client = await scene.client("modern");
    const first = await client.callTool({ name: "bad__pid", arguments: {} });
    const died = await client.callTool({ name: "bad__crash", arguments: { code: 3 } });
    expect(failureOf(died)).toMatchObject({ outcome: "unknown" });
    expect(await client.callTool({ name: "good__echo", arguments: {} })).toMatchObject(OK);
    const second = await client.callTool({ name: "bad__pid", arguments: {} });
    expect(second.isError).not.toBe(true);
    expect(second.content).not.toEqual(first.content);
  });
});

describe("G03 a server hangs", () => {
  test("the limits hold, the server is notified, and calls of others go on", async () => {
    await using good = await countingServer(TOOLS);
    const ended: string[] = [];
    await using server = createTestServer({
      tools: {
        silent: {
          handler: (_args, { signal }) =>
            new Promise<never>(() => signal.addEventListener("abort", () => ended.push("silent"))),
        },
        chatty: {
          async handler(_args, { signal, progress }: TestToolContext) {
            signal.addEventListener("abort", () => ended.push("chatty"));
            for (let step = 1; !signal.aborted; step += 1) {
              await progress(step).catch(() => {});
              await delay(100);
            }
            return "stopped";
          },
        },
      },
    });
    const { url } = await server.http();
    await using scene = await openGateway({
      mcpServers: { bad: { url }, good: { url: good.url } },
      timeoutMs: 2_000,
      maxTimeoutMs: 4_000,
    });
    const hang = async (era: (typeof ERAS)[number]) => {
      const client = await scene.client(era);
      await namesOf(client);
      const order: string[] = [];
      const hung = client.callTool({ name: "bad__silent", arguments: {} });
      const busy = client.callTool({ name: "bad__chatty", arguments: {} }, { onprogress: () => {} });
      void hung.then(() => order.push("silent"));
      void busy.then(() => order.push("chatty"));
      for (let round = 0; round < 5; round += 1)
        expect(await client.callTool({ name: "good__echo", arguments: {} })).toMatchObject(OK);
      order.push("others");
      // Progress prolongs the first limit, never the second.
      expect(failureOf(await hung)).toMatchObject({ code: "TIMEOUT", outcome: "unknown" });
      expect(failureOf(await busy)).toMatchObject({ code: "TIMEOUT", outcome: "unknown" });
      expect(order).toEqual(["others", "silent", "chatty"]);
    };
    await Promise.all(ERAS.map(hang));
    await waitFor(() => ended.length === 4, { label: "the cancellations" });
    expect(server.calls).toHaveLength(4);
  });
});

describe("G04 a server answers 200 with nothing or HTML", () => {
  const ANSWERS = {
    nothing: { type: "application/json", body: "" },
    HTML: { type: "text/html", body: "<html><body>Sign in</body></html>" },
    "an empty object": { type: "application/json", body: "{}" },
    "an empty stream": { type: "text/event-stream", body: "" },
    "null as result": {
      type: "application/json",
      body: (id: unknown) => ({ jsonrpc: "2.0", id, result: null }),
    },
  };
  test.each(Object.entries(ANSWERS))(
    "%s is an error, never an empty success",
    async (_name, { type, body }) => {
      await using server = createTestServer(TOOLS);
      const { url } = await server.http({
        async intercept(request) {
          if (request.method !== "POST") return undefined;
          const { id, method } = (await request.clone().json()) as { id: number; method: string };
          if (!["tools/call", "resources/read", "prompts/get"].includes(method)) return undefined;
          const text = typeof body === "string" ? body : JSON.stringify(body(id));
          return new Response(text, { status: 200, headers: { "content-type": type } });
        },
      });
      await using scene = await openGateway({
        mcpServers: { bad: { url, timeoutMs: 2_000 } },
      });
      for (const era of ERAS) {
        const client = await scene.client(era);
        const result = await client.callTool({ name: "bad__echo", arguments: {} });
        expect(result.isError).toBe(true);
        expect(failureOf(result)).toMatchObject({ outcome: "unknown" });
        await expect(client.readResource({ uri: "test://a" })).rejects.toMatchObject({ code: -32603 });
        await expect(client.getPrompt({ name: "bad__plan" })).rejects.toMatchObject({ code: -32603 });
      }
    },
  );
});
