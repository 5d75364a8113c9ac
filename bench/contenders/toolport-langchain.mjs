/** Toolport's LangChain adapter: calls use LangChain's own tools, as an agent does. */
import { namesOf, openPort } from "./toolport.mjs";

export async function load() {
  const [core, adapter] = await Promise.all([
    import("../../packages/toolport/dist/index.js"),
    import("../../packages/toolport/dist/adapters/langchain/index.js"),
  ]);
  return { ...core, ...adapter };
}

export async function connect(lib, servers) {
  const port = await openPort(lib, servers);
  // Larger than every result, so that the rows of 8 MB measure whole results too.
  const list = await lib.toLangChainTools(port, { forModel: { bytes: 2 ** 24 } });
  const tools = new Map(list.map((tool) => [tool.name, tool]));
  let infos;
  let names;
  return {
    async settle() {
      infos = await port.tools();
      names = namesOf(infos);
    },
    count: (server) => infos.filter((info) => info.server === server && tools.has(info.name)).length,
    call(server, tool, args) {
      const name = names.get(`${server} ${tool}`);
      return tools.get(name).invoke({ type: "tool_call", id: "1", name, args });
    },
    close: () => port.close(),
  };
}

export { read } from "./langchain.mjs";
