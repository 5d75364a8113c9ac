import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, it } from "vitest";
import { checkCatalog } from "./check-catalog.js";

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
      ...{ check: "schemas", server: "s", status: "warn" },
      message: expect.stringContaining(
        'odd are sent without checking the pattern "^(?>a+)b" at /properties/a',
      ),
    }),
  ]);
});
