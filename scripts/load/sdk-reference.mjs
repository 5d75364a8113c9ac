/**
 * Cost of a call with only the SDK's client. It runs in its own process, since that client opens as many
 * sockets and listeners as there are calls. Takes `{ entries, calls, inFlight, servers }` as JSON, writes the figures as JSON.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { measureInFlight } from "./scenarios.mjs";

const { entries, ...options } = JSON.parse(process.argv[2]);
const clients = new Map();
for (const [name, entry] of Object.entries(entries)) {
  const client = new Client({ name: "reference", version: "1.0.0" });
  const transport = entry.url
    ? new StreamableHTTPClientTransport(new URL(entry.url))
    : new StdioClientTransport(entry);
  await client.connect(transport);
  clients.set(name, client);
}

/** The only method that the scenario uses. */
const port = {
  async callTool(name, args) {
    const [server, tool] = name.split("__");
    const { content } = await clients.get(server).callTool({ name: tool, arguments: args });
    return { text: content[0].text };
  },
};
await measureInFlight(port, { ...options, calls: options.calls / 5, inFlight: 100 });
console.log(JSON.stringify(await measureInFlight(port, options)));
await Promise.all([...clients.values()].map((client) => client.close()));
