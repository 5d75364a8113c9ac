/** `@ai-sdk/mcp`: calls go through the `execute` of the AI SDK's tools. */
import { importPeer } from "../peers.mjs";

export async function load() {
  const entries = ["@ai-sdk/mcp", "@ai-sdk/mcp/mcp-stdio"];
  return Object.assign({}, ...(await Promise.all(entries.map((entry) => importPeer("ai-sdk", entry)))));
}

export async function connect(lib, servers) {
  const Stdio = lib.StdioMCPTransport ?? lib.Experimental_StdioMCPTransport;
  const open = {};
  const connectOne = async ({ name, url, command, args, env }) => {
    const transport = url === undefined ? new Stdio({ command, args, env }) : { type: "http", url };
    const client = await lib.createMCPClient({ transport, onUncaughtError: () => {} });
    open[name] = { client, tools: await client.tools() };
  };
  await Promise.all(servers.map(connectOne));
  return {
    count: (server) => Object.keys(open[server].tools).length,
    call: (server, tool, args) => open[server].tools[tool].execute(args, { toolCallId: "1", messages: [] }),
    close: () => Promise.all(Object.values(open).map(({ client }) => client.close())),
  };
}

export { read } from "./floor.mjs";
