/**
 * Many servers as one, for any MCP client: each user has a token, a policy decides what they see, and calls run as that user.
 *
 * Run it on Node 24 or later: npm run build && node examples/gateway.ts
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";

/** In your program: `auth: { issuer: "https://login.example.com" }`, or a check of your own sessions. */
const USERS: Readonly<Record<string, string>> = {
  "Bearer token-of-ada": "ada",
  "Bearer token-of-grace": "grace",
};

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using files = createTestServer({
    tools: { read: { handler: () => "the report" }, remove: { handler: () => "removed" } },
  });
  await using clock = createTestServer({ tools: { now: { handler: () => "noon" } } });
  const toolport = createToolport({
    mcpServers: { files: { url: (await files.http()).url }, clock: { url: (await clock.http()).url } },
  });
  const gateway = createGateway(toolport, {
    auth: {
      verify: (request) => {
        const principal = USERS[request.headers.get("authorization") ?? ""];
        return principal === undefined ? undefined : { principal };
      },
    },
    policy: ({ principal, tool }) =>
      tool === "remove" && principal !== "ada"
        ? { effect: "deny", reason: "Only ada removes files" }
        : { effect: "allow" },
  });
  const server = createServer((request, response) => gateway.node(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);

  // The client of the SDK stands for any other: an editor, a desktop program, an agent in another language.
  const connect = async (token: string) => {
    const client = new Client({ name: "example", version: "1.0.0" });
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return client;
  };
  const [ada, grace] = [await connect("token-of-ada"), await connect("token-of-grace")];
  for (const [name, client] of Object.entries({ ada, grace })) {
    const { tools } = await client.listTools();
    print(`${name}: ${tools.map((tool) => tool.name).join(", ")}`);
  }
  const refused = await grace.callTool({ name: "files__remove", arguments: {} }).catch(String);
  print(`grace removes: ${JSON.stringify(refused).includes("Only ada removes files") ? "refused" : "done"}`);

  await Promise.all([ada.close(), grace.close()]);
  await gateway.close();
  await toolport.close();
  server.close();
  server.closeAllConnections();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
