/** Toolport's core, as built in `dist/`. */
import { fileURLToPath } from "node:url";

export const load = () => import("../../packages/toolport/dist/index.js");
export const command = [
  fileURLToPath(new URL("../../packages/toolport/dist/cli/main.js", import.meta.url)),
  "--help",
];

/** A port over these servers, connected. */
export async function openPort(lib, servers, entryOptions = {}) {
  const entries = servers.map(({ name, ...entry }) => [name, { ...entry, ...entryOptions }]);
  const port = lib.createToolport({ mcpServers: Object.fromEntries(entries) });
  await port.connect();
  return port;
}

/** The public name of a server's tool. */
export const namesOf = (tools) =>
  new Map(tools.map((tool) => [`${tool.server} ${tool.sourceName}`, tool.name]));

export async function connectWith(lib, servers, entryOptions) {
  const port = await openPort(lib, servers, entryOptions);
  const tools = await port.tools();
  const names = namesOf(tools);
  return {
    count: (server) => tools.filter((tool) => tool.server === server).length,
    call: (server, tool, args) => port.callTool(names.get(`${server} ${tool}`), args),
    close: () => port.close(),
  };
}

export const connect = (lib, servers) => connectWith(lib, servers);

export { read } from "./floor.mjs";
