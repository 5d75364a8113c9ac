/** Things that are too large for a gateway: bodies, results, nesting, lists. */
import { request } from "node:http";
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { sendRaw } from "../../../test/support/raw-request.js";
import { openGateway } from "./gateway-scene.js";
import { callModern, failureOfReply, sendModern } from "./support/raw-gateway-client.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

const MEGABYTE = 1024 * 1024;
const JSON_TYPE = { "content-type": "application/json" };

const createEcho = () => createTestServer({ tools: { echo: { handler: () => "ok" } } });

describe("G12 something is too large", () => {
  test("a body that announces 64 MB gets 413 before it is sent", async () => {
    await using server = createEcho();
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const headers = { ...JSON_TYPE, "content-length": String(64 * MEGABYTE) };
    const asked = request(scene.url, { method: "POST", headers, agent: false });
    asked.on("error", () => {});
    // Only the headers are sent.
    asked.flushHeaders();
    const status = await new Promise((resolve) => {
      asked.once("response", (response) => resolve(response.statusCode));
    });
    expect(status).toBe(413);
    asked.destroy();
  });

  test("a body without an announced length is cut at the limit", async () => {
    await using server = createEcho();
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const asked = request(scene.url, { method: "POST", headers: JSON_TYPE, agent: false });
    asked.on("error", () => {});
    const status = new Promise((resolve, reject) => {
      asked.once("response", (response) => resolve(response.statusCode));
      asked.once("close", () => reject(new Error("Closed without a response")));
    });
    // No end follows. A client that goes on sending may find the connection closed before it reads the response.
    asked.write(Buffer.alloc(4 * MEGABYTE + 1, "["));
    expect(await status).toBe(413);
    asked.destroy();
    expect(server.calls).toEqual([]);
  });

  test("a result of 64 MB is an error that says what to do", async () => {
    await using server = createTestServer({ tools: { big: { handler: () => "x".repeat(64 * MEGABYTE) } } });
    const { url } = await server.http();
    await using scene = await openGateway({ mcpServers: { one: { url } } });
    const reply = await callModern(scene.url, "one__big");
    expect(reply.message.result?.isError).toBe(true);
    expect(failureOfReply(reply)).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    expect(reply.text.length).toBeLessThan(10_000);
  });

  test.each([501, 100_000])("arguments nested %i levels deep are refused", async (levels) => {
    await using server = createEcho();
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const nested = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const params = `{"name":"one__echo","arguments":{"deep":${nested}}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const refused = await sendRaw(scene.url, "/mcp", { method: "POST", headers: headersOf(scene.url), body });
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: -32600 } });
    expect(server.calls).toEqual([]);
  });

  test("a result nested 100,000 levels deep costs only its call", async () => {
    const nested = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    await using server = createEcho();
    const { url } = await server.http({
      async intercept(asked) {
        const { id, method } = (await asked.clone().json()) as { id: number; method: string };
        if (method !== "tools/call") return undefined;
        const result = `{"content":[],"structuredContent":${nested}}`;
        return new Response(`{"jsonrpc":"2.0","id":${id},"result":${result}}`, { headers: JSON_TYPE });
      },
    });
    await using scene = await openGateway({ mcpServers: { one: { url, protocol: { pin: "2026-07-28" } } } });
    const reply = await callModern(scene.url, "one__echo");
    expect(reply.message.result?.isError ?? reply.message.error).toBeTruthy();
    expect((await sendModern(scene.url, "tools/list")).status).toBe(200);
  });

  test("pages without end are cut, and the tools until then are offered", async () => {
    await using server = createEcho();
    let pages = 0;
    const { url } = await server.http({
      async intercept(asked) {
        const { id, method } = (await asked.clone().json()) as { id: number; method: string };
        if (method !== "tools/list") return undefined;
        pages += 1;
        const tools = [{ name: `tool${pages}`, inputSchema: { type: "object" } }];
        const result = {
          tools,
          nextCursor: `page ${pages + 1}`,
          resultType: "complete",
          ttlMs: 0,
          cacheScope: "private",
        };
        return Response.json({ jsonrpc: "2.0", id, result });
      },
    });
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {} };
    await using scene = await openGateway({
      mcpServers: { endless: { url, protocol: { pin: "2026-07-28" } } },
      logger,
    });
    const { message } = await sendModern(scene.url, "tools/list");
    const tools = message.result?.["tools"] as { name: string }[];
    expect(tools.length).toBeGreaterThan(0);
    expect(pages).toBeLessThanOrEqual(64);
    expect(warnings.join("\n")).toMatch(/endless.*page/s);
  });
});

const headersOf = (url: string) => ({ ...JSON_TYPE, host: new URL(url).host });
