/** Toolport's AI SDK adapter: calls use the `execute` of the AI SDK's tools. */
import { namesOf, openPort } from "./toolport.mjs";

export async function load() {
  const [core, adapter] = await Promise.all([
    import("../../packages/toolport/dist/index.js"),
    import("../../packages/toolport/dist/adapters/ai-sdk/index.js"),
    // Its users have loaded it anyway; the adapter would load it with the first tools.
    import("ai"),
  ]);
  return { ...core, ...adapter };
}

export async function connect(lib, servers) {
  const port = await openPort(lib, servers);
  const tools = await lib.toAiSdkTools(port);
  let infos;
  let names;
  return {
    async settle() {
      infos = await port.tools();
      names = namesOf(infos);
    },
    count: (server) => infos.filter((info) => info.server === server && info.name in tools).length,
    call: (server, tool, args) =>
      tools[names.get(`${server} ${tool}`)].execute(args, { toolCallId: "1", messages: [] }),
    close: () => port.close(),
  };
}

export { read } from "./floor.mjs";
