/** What models get from other libraries for the same servers. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchPeer, importPeer, PEERS } from "../../bench/peers.mjs";
import { fetchNode, fetchTool, run } from "../fetch-tool.mjs";
import { BIG, BIG_CALLS, CORPUS } from "./corpus.mjs";

const MCPORTER_VERSION = "0.12.3";
const TIMEOUT_MS = 120_000;

const toFunction = (name, description, parameters) => ({
  type: "function",
  function: { name, description, parameters },
});

/** Each peer: its name, the tools that a model gets (JSON or text), how many they are, and the answers to the calls with results of 1 MB. */
export const PEER_ROWS = [langchain, aiSdk, mcporter];

async function langchain() {
  await fetchPeer("langchain");
  const { MultiServerMCPClient } = await importPeer("langchain", "@langchain/mcp-adapters");
  const { convertToOpenAITool } = await importPeer("langchain", "@langchain/core/utils/function_calling");
  const open = (servers) =>
    new MultiServerMCPClient({
      prefixToolNameWithServerName: true,
      mcpServers: Object.fromEntries(
        Object.entries(servers).map(([name, entry]) => [name, { transport: "stdio", ...entry }]),
      ),
    });
  const client = open(CORPUS);
  const big = open(BIG);
  try {
    const tools = (await client.getTools()).map((tool) => convertToOpenAITool(tool));
    const answers = {};
    for (const tool of await big.getTools()) {
      const { content } = await tool.invoke({ type: "tool_call", id: "1", name: tool.name, args: {} });
      answers[tool.name.replace("big__", "")] = content;
    }
    return { name: `@langchain/mcp-adapters ${versionOf("langchain")}`, tools, count: tools.length, answers };
  } finally {
    await client.close();
    await big.close();
  }
}

async function aiSdk() {
  await fetchPeer("ai-sdk");
  const { createMCPClient } = await importPeer("ai-sdk", "@ai-sdk/mcp");
  const stdio = await importPeer("ai-sdk", "@ai-sdk/mcp/mcp-stdio");
  const Transport = stdio.StdioMCPTransport ?? stdio.Experimental_StdioMCPTransport;
  const clients = [];
  const open = async (entry) => {
    const client = await createMCPClient({ transport: new Transport(entry) });
    clients.push(client);
    return client.tools();
  };
  try {
    const all = {};
    // As its guide says: one object with the tools of all clients. A later tool replaces one of the same name.
    for (const entry of Object.values(CORPUS)) Object.assign(all, await open(entry));
    const tools = await Promise.all(
      Object.entries(all).map(async ([name, tool]) =>
        toFunction(name, tool.description, await schemaOf(tool.inputSchema)),
      ),
    );
    const answers = {};
    for (const [name, tool] of Object.entries(await open(BIG.big))) {
      const output = await tool.execute({}, { toolCallId: "1", messages: [] });
      const shown = await tool.toModelOutput?.({ toolCallId: "1", input: {}, output });
      answers[name] = shown ?? output;
    }
    return { name: `@ai-sdk/mcp ${versionOf("ai-sdk")}`, tools, count: tools.length, answers };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** Its users let the model read the signatures that `mcporter list <server>` prints. */
async function mcporter() {
  const [node, home] = await Promise.all([
    fetchNode(24),
    fetchTool("mcporter", "mcporter", MCPORTER_VERSION),
  ]);
  const folder = await mkdtemp(join(tmpdir(), "toolport-context-"));
  const config = join(folder, "mcporter.json");
  await writeFile(config, JSON.stringify({ mcpServers: { ...CORPUS, ...BIG }, imports: [] }));
  const ask = async (...args) => {
    const env = { ...process.env, HOME: folder, NO_COLOR: "1" };
    const { code, output } = await run(node, [join(home, "dist", "cli.js"), "--config", config, ...args], {
      timeoutMs: TIMEOUT_MS,
      env,
    });
    if (code !== 0) throw new Error(`mcporter ${args.join(" ")} failed: ${output.slice(0, 500)}`);
    return output;
  };
  try {
    const lists = [];
    for (const name of Object.keys(CORPUS)) lists.push(await ask("list", name, "--all-parameters"));
    const answers = {};
    for (const name of BIG_CALLS) answers[name] = await ask("call", `big.${name}`);
    const count = lists.reduce((sum, text) => sum + (text.match(/^ *function /gm)?.length ?? 0), 0);
    return {
      name: `mcporter ${MCPORTER_VERSION}`,
      tools: lists.join("\n"),
      count,
      answers,
    };
  } finally {
    // It keeps some servers running in the background.
    await ask("daemon", "stop").catch((error) => console.error(error.message));
    await rm(folder, { recursive: true, force: true });
  }
}

const versionOf = (peer) => Object.values(PEERS[peer])[0];

async function schemaOf(schema) {
  const made = typeof schema === "function" ? schema() : schema;
  return made.jsonSchema;
}
