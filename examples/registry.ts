/**
 * From a registry to a connected server: search, read the warnings, supply missing inputs, connect.
 *
 * Run it on Node 24 or later: npm run build && node examples/registry.ts
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { McpRegistryClient, toServerConfig } from "toolport/registry";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  await using weather = createTestServer({
    tools: { forecast: { handler: ({ city }) => `${city}: rain` } },
  });
  // In your program this is the official registry, or your company's own.
  await using local = await startRegistry((await weather.http()).url);
  const registry = new McpRegistryClient({ baseUrl: local.url });

  for await (const { server } of registry.servers({ search: "weather", version: "latest" })) {
    print(`${server.name} ${server.version}: ${server.description}`);
  }

  const found = await registry.getServer("io.example/weather");
  const { missing } = toServerConfig(found);
  for (const { name, description, isSecret } of missing)
    print(`needs ${name}: ${description}, secret ${isSecret}`);

  const { entry, name, warnings } = toServerConfig(found, { inputs: { "X-Key": "my key" } });
  for (const warning of warnings) print(`warning: ${warning}`);
  if (entry === undefined) throw new Error("Something is still missing");

  await using toolport = createToolport();
  await toolport.add(name, entry); // only after a user has reviewed the entry and its warnings
  print((await toolport.callTool(`${name}__forecast`, { city: "Oslo" })).text);
}

/** A registry with one server. */
async function startRegistry(url: string) {
  const header = { name: "X-Key", description: "Your key", isRequired: true, isSecret: true };
  const server = {
    name: "io.example/weather",
    description: "Forecasts",
    version: "1.0.0",
    remotes: [{ type: "streamable-http", url, headers: [header] }],
  };
  const http = createServer((request, response) => {
    const isList = new URL(request.url ?? "", "http://registry").pathname === "/v0.1/servers";
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(isList ? { servers: [{ server }], metadata: { count: 1 } } : { server }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
