/** Arguments that a rule for a fallback server has read reach that server as they were. */
import { type PolicyDocument, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

const inputSchema = {
  type: "object",
  properties: { order: { type: "object", properties: { amount: { type: "number" } } } },
} as const;

const RULES: PolicyDocument = {
  default: "allow",
  rules: [{ effect: "deny", server: "backup", args: { "/order/amount": { min: 100 } } }],
};

test.each<[string, unknown, readonly unknown[]]>([
  ["allowed arguments", { amount: 5 }, [{ order: { amount: 5 } }]],
  ["denied arguments", { amount: 5_000 }, []],
  ["arguments that a repair would turn into denied ones", '{"amount":5000}', []],
])("%s", async (_title, order, expected) => {
  await using backup = createTestServer({ tools: { pay: { inputSchema, handler: () => "paid" } } });
  await using scene = await openGateway(
    { mcpServers: { main: { url: "http://127.0.0.1:9/mcp", fallback: "backup" }, backup: backup.memory() } },
    { auth: false, policy: await readPolicy(RULES) },
  );
  const client = await scene.client("modern");
  await client.listTools();
  await client.callTool({ name: "main__pay", arguments: { order } }).catch(() => {});
  expect(backup.calls.map(({ args }) => args)).toEqual(expected);
});
