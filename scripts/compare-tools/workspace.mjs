/** A temporary folder with servers, and the three programs with their configuration files. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestServer } from "toolport/testing";
import { fetchNode, fetchTool, root } from "../fetch-tool.mjs";

const INSPECTOR = "@modelcontextprotocol/inspector";
const EVERYTHING = join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");

/** Programs by name: how to start them, and their version. */
async function findPrograms() {
  const [node, mcporter, inspector] = await Promise.all([
    fetchNode(24),
    fetchTool("mcporter", "mcporter", "0.12.3"),
    fetchTool("inspector", INSPECTOR, "2"),
  ]);
  return {
    toolport: [process.execPath, join(root, "packages/toolport/dist/cli/main.js")],
    mcporter: [node, join(mcporter, "dist/cli.js")],
    inspector: [node, join(inspector, "clients/launcher/build/index.js")],
    mcpdo: [node, join(inspector, "clients/mcpdo/build/mcp-bin.js")],
  };
}

/** A port on which no process listens. */
async function closedPort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const tools = {
  hello: { description: "Says hello", handler: () => "hello from the server" },
  count: { description: "Counts its calls", handler: () => `call ${++calls}` },
  fail: {
    description: "Always fails",
    handler() {
      throw new Error("out of stock");
    },
  },
};
let calls = 0;

/** Starts the servers and writes the configuration files. */
export async function openWorkspace() {
  const programs = await findPrograms();
  const folder = await mkdtemp(join(tmpdir(), "toolport-compare-"));
  const home = join(folder, "home");
  await Promise.all([home, join(folder, "config"), join(folder, ".cursor")].map((path) => mkdir(path)));
  const legacy = createTestServer({ era: "legacy", tools });
  const modern = createTestServer({ era: "modern", tools });
  const [http, sse, webSocket, modernHttp] = await Promise.all([
    legacy.http(),
    legacy.sse(),
    legacy.webSocket(),
    modern.http(),
  ]);
  const values = {
    folder,
    home,
    node: process.execPath,
    mcporterNode: programs.mcporter[0],
    mcporterCli: programs.mcporter[1],
    everything: EVERYTHING,
    http: http.url,
    sse: sse.url,
    ws: webSocket.url,
    modern: modernHttp.url,
    dead: `http://127.0.0.1:${await closedPort()}/mcp`,
    port: String(await closedPort()),
  };
  // One file for all: `type` is for the Inspector, `lifecycle` for mcporter.
  const remote = (type, url) => ({ type, url });
  const mcpServers = {
    everything: { type: "stdio", command: process.execPath, args: [EVERYTHING] },
    web: remote("http", values.http),
    old: remote("sse", values.sse),
    modern: remote("http", values.modern),
    dead: remote("http", values.dead),
  };
  const write = (name, content) => writeFile(join(folder, name), JSON.stringify(content, null, 2));
  await write("mcp.json", { mcpServers });
  await write("unknown.json", { mcpServers });
  await write("toolport.json", { mcpServers: { ...mcpServers, socket: { url: values.ws } } });
  await write("config/mcporter.json", {
    mcpServers: { ...mcpServers, socket: { url: values.ws } },
    imports: ["cursor"],
  });
  await write("config/kept.json", {
    mcpServers: { everything: { ...mcpServers.everything, lifecycle: "keep-alive" } },
    imports: [],
  });
  await write(".cursor/mcp.json", { mcpServers: { fromcursor: remote("http", values.http) } });
  return {
    programs,
    folder,
    values,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_STATE_HOME: join(home, "state"),
      XDG_CONFIG_HOME: join(home, "settings"),
      MCP_INSPECTOR_SECRET_STORE: "memory",
      PRIVATE_VARIABLE: "not-for-servers",
      NO_COLOR: "1",
    },
    async close() {
      await Promise.all([legacy.close(), modern.close()]);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
