/** `@langchain/mcp-adapters`: calls use LangChain's own tools, as an agent does. */
import { createAuthProvider } from "../auth-provider.mjs";

export { load } from "../../../bench/contenders/langchain.mjs";

export const peer = "langchain";
export const configuration =
  "`reconnect` on, and where a server is to come back `restart` (both 20 attempts, 100 ms apart; not elsewhere, " +
  "because with it a client that was closed starts its server again); `onConnectionError` a function, " +
  "`prefixToolNameWithServerName` on, `throwOnLoadError` off";
export const defaultConnectLimit = "60 s, not to be changed";

const OFTEN = { enabled: true, maxAttempts: 20, delayMs: 100 };

function toClient(lib, servers, { stderr, authProvider, recover } = {}, failures = []) {
  const toEntry = ({ url, command, args }) =>
    url === undefined
      ? { transport: "stdio", command, args, ...(recover && { restart: OFTEN }), ...(stderr && { stderr }) }
      : { transport: "http", url, reconnect: OFTEN, ...(authProvider && { authProvider }) };
  return new lib.MultiServerMCPClient({
    mcpServers: Object.fromEntries(servers.map((server) => [server.name, toEntry(server)])),
    prefixToolNameWithServerName: true,
    throwOnLoadError: false,
    onConnectionError({ error }) {
      failures.push(error);
    },
  });
}

async function toHandle(client) {
  const list = await client.getTools();
  let tools = new Map(list.map((tool) => [tool.name, tool]));
  return {
    tools: list.map(({ name }) => {
      const [server, ...rest] = name.split("__");
      return { server, tool: rest.join("__"), name };
    }),
    async call(server, tool, args, options) {
      const name = `${server}__${tool}`;
      const { content } = await tools.get(name).invoke({ type: "tool_call", id: "1", name, args }, options);
      return typeof content === "string" ? content : content[0]?.text;
    },
    async listAgain() {
      tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
    },
    close: () => client.close(),
  };
}

export async function open(lib, servers, options) {
  const failures = [];
  const client = toClient(lib, servers, options, failures);
  const handle = await toHandle(client);
  if (failures.length < servers.length) return handle;
  await client.close();
  throw failures[0];
}

export async function openCrowd(lib, servers, count) {
  const client = toClient(lib, servers);
  await Promise.all(Array.from({ length: count }, () => client.getTools()));
  return toHandle(client);
}

export const openProtected = (lib, url, loginState) =>
  open(lib, [{ name: "it", url }], { authProvider: createAuthProvider(loginState) });
