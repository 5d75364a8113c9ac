import { memoryStore } from "@toolport/stores";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, it, test } from "vitest";
import { checkCatalog } from "./check-catalog.js";
import { checkDurability } from "./checks.js";

it("lists the tools whose schemas cannot be checked in full", async () => {
  const inputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(?>a+)b" } } };
  await using server = createTestServer({
    tools: {
      odd: { inputSchema, handler: () => "odd" },
      plain: { inputSchema: { type: "object" }, handler: () => "plain" },
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await toolport.connect();
  const findings = checkCatalog(toolport.snapshot(), ["s"]).filter(({ message }) =>
    message.includes("without checking"),
  );
  expect(findings).toEqual([
    expect.objectContaining({
      check: "schemas",
      server: "s",
      status: "warn",
      message: expect.stringContaining(
        'odd are sent without checking the pattern "^(?>a+)b" at /properties/a',
      ),
    }),
  ]);
});

test("warns of a store that may lose records, with what to do", async () => {
  const risk = { what: "Redis has no append-only file", next: "Set appendonly yes" };
  expect(await checkDurability({ durabilityRisk: async () => risk })).toEqual([
    {
      check: "state",
      status: "warn",
      message: "Suspended calls may be lost: Redis has no append-only file",
      next: "Set appendonly yes",
    },
  ]);
});

test("reports nothing for durable stores, for stores that do not say, and for memory", async () => {
  const store = memoryStore();
  expect(await checkDurability(store)).toEqual([]);
  expect(await checkDurability({})).toEqual([]);
  expect(await checkDurability({ durabilityRisk: async () => undefined })).toEqual([]);
  await store.close();
});

test("a store that cannot be asked is a warning, not a failure", async () => {
  const findings = await checkDurability({ durabilityRisk: () => Promise.reject(new Error("gone")) });
  expect(findings).toMatchObject([{ status: "warn", message: expect.stringContaining("unknown") }]);
});
