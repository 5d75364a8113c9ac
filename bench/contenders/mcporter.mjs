/** `mcporter`: the runtime beneath its command line. */
import { importPeer } from "../peers.mjs";

export const load = () => importPeer("mcporter", "mcporter");

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export async function connect(lib, servers) {
  const toDefinition = ({ name, url, command, args, env }) =>
    url === undefined
      ? { name, command: { kind: "stdio", command, args, cwd: process.cwd() }, env }
      : { name, command: { kind: "http", url: new URL(url) } };
  const runtime = await lib.createRuntime({ logger: SILENT, servers: servers.map(toDefinition) });
  const counts = {};
  const list = async ({ name }) => {
    counts[name] = (await runtime.listTools(name, { includeSchema: true })).length;
  };
  await Promise.all(servers.map(list));
  return {
    count: (server) => counts[server],
    call: (server, tool, args) => runtime.callTool(server, tool, { args }),
    close: () => runtime.close(),
  };
}

export { read } from "./floor.mjs";
