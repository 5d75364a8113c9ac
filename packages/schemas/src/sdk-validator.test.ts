/** The SDK's client with our validator: an output schema cannot freeze it. */
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cpuTimeMs } from "../../../test/support/cpu-time.js";
import { createSchemaValidator, createSdkValidator } from "./create-validator.js";

const text = { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } } as const;
let answer: Record<string, unknown>;
let client: Client;
let server: Server;

beforeEach(async () => {
  server = new Server({ name: "hostile", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: [{ name: "say", inputSchema: { type: "object" }, outputSchema: text }],
  }));
  server.setRequestHandler("tools/call", () => ({ content: [], structuredContent: answer }));
  const jsonSchemaValidator = await createSdkValidator(createSchemaValidator());
  client = new Client({ name: "test", version: "1.0.0" }, { jsonSchemaValidator });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  await client.listTools();
});

afterEach(async () => {
  await client.close();
  await server.close();
});

it("accepts valid results", async () => {
  answer = { text: "aaa" };
  expect((await client.callTool({ name: "say" })).structuredContent).toEqual(answer);
});

it("rejects invalid results, with the issues", async () => {
  answer = { text: 1 };
  await expect(client.callTool({ name: "say" })).rejects.toThrow("$.text must be a string, but is a number");
});

it("is not blocked by a hostile pattern, and accepts what it cannot check", async () => {
  answer = { text: `${"a".repeat(28)}!` };
  const before = cpuTimeMs();
  expect((await client.callTool({ name: "say" })).structuredContent).toEqual(answer);
  expect(cpuTimeMs() - before).toBeLessThan(10_000);
});
