/** The official SDK, second generation, with its defaults. */
import { importPeer } from "../peers.mjs";

export async function load() {
  const entries = ["@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"];
  return Object.assign({}, ...(await Promise.all(entries.map((entry) => importPeer("sdk-v2", entry)))));
}

export async function connectWith(lib, servers, options) {
  const open = {};
  const connectOne = async ({ name, url, command, args, env }) => {
    const client = new lib.Client({ name: "bench", version: "1.0.0" }, options);
    await client.connect(
      url === undefined
        ? new lib.StdioClientTransport({ command, args, env })
        : new lib.StreamableHTTPClientTransport(new URL(url)),
    );
    // Reads all pages.
    const { tools } = await client.listTools();
    open[name] = { client, tools };
  };
  await Promise.all(servers.map(connectOne));
  return {
    count: (server) => open[server].tools.length,
    call: (server, name, args) => open[server].client.callTool({ name, arguments: args }),
    close: () => Promise.all(Object.values(open).map(({ client }) => client.close())),
  };
}

export const connect = (lib, servers) => connectWith(lib, servers);

export { read } from "./floor.mjs";
