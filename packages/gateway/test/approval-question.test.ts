/** The question that a client gets before a call that needs an approval. */
import { Client } from "@modelcontextprotocol/client";
import { createToolport } from "toolport";
import { createGateway, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { MODERN } from "./gateway-scene.js";

test.each(["modern", "legacy"] as const)("a long argument hides no other one: %s client", async (era) => {
  await using server = createTestServer({
    tools: { write: { description: "Writes", handler: () => "written" } },
  });
  const toolport = createToolport({ mcpServers: { files: server.memory() } });
  const policy = await readPolicy({
    default: "allow",
    rules: [{ effect: "approve", tool: "write", reason: "Files are changed." }],
  });
  const gateway = createGateway(toolport, { auth: false, policy });
  const client = new Client(
    { name: "test-client", version: "1.0.0" },
    {
      versionNegotiation: { mode: era === "modern" ? MODERN : "legacy" },
      capabilities: { elicitation: { form: {} } },
    },
  );
  const messages: string[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    messages.push(params.message);
    return { action: "accept", content: { allow: true } };
  });
  await client.connect(gateway.memory());
  const args = { note: "x".repeat(5_000), path: "/etc/passwd" };
  const result = await client.callTool({ name: "files__write", arguments: args });

  expect(result.content).toEqual([{ type: "text", text: "written" }]);
  expect(messages).toHaveLength(1);
  expect(messages[0]).toMatch(
    /^Allow files__write with these arguments\? Files are changed\.\nThey are too long/,
  );
  expect(messages[0]).toMatch(/x" \(\+\d+ characters\),"path":"\/etc\/passwd"\}$/);
  expect(messages[0]!.length).toBeLessThan(4_000);
  await client.close();
  await gateway.close();
  await toolport.close();
});
