/** Requests of a user that are refused before they are served have a line in the audit log. */
import type { AuditEvent } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test, vi } from "vitest";
import { recordUnserved, serveRequest } from "../src/dispatch.js";
import type { Exchange, GatewayClient } from "../src/message.js";
import type { GatewayParts } from "../src/request-context.js";
import { openGateway } from "./gateway-scene.js";
import { META, post, VERSIONS } from "./raw-client.js";

const MODERN = { [META.version]: VERSIONS.modern, [META.capabilities]: {} };

test("a forged session, a wrong envelope, and batches with them", async () => {
  const events: AuditEvent[] = [];
  await using up = createTestServer({ tools: { work: { handler: () => "worked" } } });
  await using scene = await openGateway(
    { mcpServers: { up: up.memory() } },
    {
      auth: { verify: () => ({ principal: "eve" }) },
      audit: (event) => void (event.event === "request" && events.push(event)),
    },
  );
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "up__work" } };
  const forged = { headers: { "mcp-session-id": "forged" } };
  const modern = { ...call, method: "tools/list", params: { _meta: MODERN } };
  expect((await post(scene.url, call, forged)).status).toBe(404);
  expect((await post(scene.url, modern)).status).toBe(400);
  expect((await post(scene.url, [call, call], forged)).status).toBe(404);
  expect((await post(scene.url, [call, modern])).status).toBe(400);
  const lines = events.map(({ principal, method, outcome, code }) => [principal, method, outcome, code]);
  const refused = (method: string, code: number) => ["eve", method, "error", code];
  expect(lines).toEqual([
    refused("tools/call", -32_001),
    refused("tools/list", -32_020),
    refused("tools/call", -32_001),
    refused("tools/call", -32_001),
    refused("tools/call", -32_600),
    refused("tools/list", -32_600),
  ]);
  expect(up.calls).toEqual([]);
});

test("a request that is refused before its body is read, by the method that its header names", async () => {
  const events: AuditEvent[] = [];
  await using scene = await openGateway(
    { mcpServers: {} },
    {
      auth: { verify: () => ({ principal: "eve" }) },
      rateLimit: { perSecond: 0.001, burst: 1 },
      audit: (event) => void (event.event === "request" && events.push(event)),
    },
  );
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect((await post(scene.url, ping)).status).toBe(200);
  expect((await post(scene.url, ping)).status).toBe(429);
  const headers = { "mcp-protocol-version": VERSIONS.modern, "mcp-method": "tools/list" };
  expect((await post(scene.url, ping, { headers })).status).toBe(429);
  expect(events.map(({ method, outcome, code }) => [method, outcome, code])).toEqual([
    ["ping", "ok", undefined],
    ["unread", "error", -32_603],
    ["tools/list", "error", -32_603],
  ]);
});

test("a request whose client is gone before it is served has neither an effect nor a line", async () => {
  const record = vi.fn();
  const arrive = vi.fn();
  const parts = { users: { arrive }, audit: { space: () => undefined, record } } as unknown as GatewayParts;
  const client = { principal: "eve", scopes: [], era: "modern" } as unknown as GatewayClient;
  const request = { id: 1, method: "tools/call", params: { name: "up__work" } };
  const exchange = { signal: AbortSignal.abort(new Error("The client is gone")) } as Exchange;
  expect(await serveRequest(parts, client, exchange, request)).toMatchObject({ isError: true });
  await recordUnserved(parts, client, [request], { error: new Error("forged"), signal: exchange.signal });
  expect(arrive).not.toHaveBeenCalled();
  expect(record).not.toHaveBeenCalled();
});
