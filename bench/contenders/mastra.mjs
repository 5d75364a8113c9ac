/** `@mastra/mcp`: calls go through the `execute` of Mastra's tools. */
import { importPeer } from "../peers.mjs";
import { read as readResult } from "./floor.mjs";

export const load = () => importPeer("mastra", "@mastra/mcp");

let opened = 0;

export async function connect(lib, list) {
  const toEntry = ({ url, command, args, env }) =>
    url === undefined ? { command, args, env } : { url: new URL(url) };
  const servers = Object.fromEntries(list.map((server) => [server.name, toEntry(server)]));
  opened += 1;
  const client = new lib.MCPClient({ id: `bench${opened}`, servers });
  const tools = await client.listTools();
  return {
    count: (server) => Object.keys(tools).filter((name) => name.startsWith(`${server}_`)).length,
    call: (server, tool, args) => tools[`${server}_${tool}`].execute(args, {}),
    close: () => client.disconnect(),
  };
}

/** A tool with an output schema returns only its structured content. */
export const read = (result) =>
  Array.isArray(result?.content) ? readResult(result) : { structured: result, text: JSON.stringify(result) };
