/** `@langchain/mcp-adapters`: calls use LangChain's own tools, as an agent does. */
import { importPeer } from "../peers.mjs";

export const load = () => importPeer("langchain", "@langchain/mcp-adapters");

const OFTEN = { enabled: true, maxAttempts: 20, delayMs: 100 };

export async function connect(lib, servers, { reconnect = false } = {}) {
  const toEntry = ({ url, command, args, env }) =>
    url === undefined
      ? { transport: "stdio", command, args, env, ...(reconnect ? { restart: OFTEN } : {}) }
      : { transport: "http", url, ...(reconnect ? { reconnect: OFTEN } : {}) };
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, toEntry(server)]));
  const client = new lib.MultiServerMCPClient({ mcpServers, prefixToolNameWithServerName: true });
  const list = await client.getTools();
  const tools = new Map(list.map((tool) => [tool.name, tool]));
  return {
    count: (server) => list.filter((tool) => tool.name.startsWith(`${server}__`)).length,
    call(server, tool, args) {
      const name = `${server}__${tool}`;
      return tools.get(name).invoke({ type: "tool_call", id: "1", name, args });
    },
    close: () => client.close(),
  };
}

export function read({ content, artifact }) {
  const structured = artifact?.find?.((part) => part.type === "mcp_structured_content")?.data;
  if (typeof content === "string") return { text: content, structured };
  return {
    text: content.find((block) => block.type === "text")?.text,
    image: content.find((block) => block.type === "image_url")?.image_url.url.split(",")[1],
    structured,
  };
}
