/** `mcp-use` 1.x, its client and LangChain adapter: version 2 is a framework for servers and has no client. */
import { importPeer } from "../peers.mjs";
import { read as readResult } from "./floor.mjs";

export async function load() {
  const entries = ["mcp-use/client", "mcp-use/adapters"];
  return Object.assign({}, ...(await Promise.all(entries.map((entry) => importPeer("mcp-use", entry)))));
}

export async function connect(lib, servers) {
  const toEntry = ({ url, command, args, env }) => (url === undefined ? { command, args, env } : { url });
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, toEntry(server)]));
  const client = new lib.MCPClient({ mcpServers });
  const sessions = await client.createAllSessions();
  const open = {};
  const convert = async ({ name }) => {
    const list = await new lib.LangChainAdapter().createToolsFromConnectors([sessions[name].connector]);
    open[name] = new Map(list.map((tool) => [tool.name, tool]));
  };
  await Promise.all(servers.map(convert));
  return {
    count: (server) => open[server].size,
    call: (server, tool, args) => open[server].get(tool).invoke(args),
    close: () => client.closeAllSessions(),
  };
}

/** Its tools return the whole result as JSON. */
export const read = (result) => readResult(JSON.parse(result));
