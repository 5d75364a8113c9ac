/** The official SDK, first generation: client and transports, and its list of tools. */
import { importPeer } from "../peers.mjs";

export async function load() {
  const entries = ["client/index.js", "client/stdio.js", "client/streamableHttp.js"];
  const modules = await Promise.all(
    entries.map((entry) => importPeer("sdk-v1", `@modelcontextprotocol/sdk/${entry}`)),
  );
  return Object.assign({}, ...modules);
}

async function listTools(client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

export async function connect(lib, servers) {
  const open = {};
  const connectOne = async ({ name, url, command, args, env }) => {
    const client = new lib.Client({ name: "bench", version: "1.0.0" });
    await client.connect(
      url === undefined
        ? new lib.StdioClientTransport({ command, args, env })
        : new lib.StreamableHTTPClientTransport(new URL(url)),
    );
    open[name] = { client, tools: await listTools(client) };
  };
  await Promise.all(servers.map(connectOne));
  return {
    count: (server) => open[server].tools.length,
    call: (server, name, args) => open[server].client.callTool({ name, arguments: args }),
    close: () => Promise.all(Object.values(open).map(({ client }) => client.close())),
  };
}

export { read } from "./floor.mjs";
