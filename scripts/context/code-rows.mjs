/** What models get in code mode: definitions at several sizes of the catalog, and whole tasks beside direct calls. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runOpenAIToolCalls, toOpenAITools } from "../../dist/adapters/openai/index.js";
import { createCodeMode } from "../../dist/code/index.js";
import { createToolport } from "../../dist/index.js";
import { createTestServer } from "../../dist/testing/index.js";
import { countTokens } from "../count-tokens.mjs";
import { root } from "../fetch-tool.mjs";
import { runTasks } from "./code-tasks.mjs";

const MAX_TOOLS = 450;
const MAX_DECLARED = 0.6;

const folder = join(root, "test", "fixtures", "definitions");
const number = (value) => Math.round(value).toLocaleString("en-US");
const tokensOf = (value) => countTokens(JSON.stringify(value));
const table = (head, rows) =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");

/** `count` tools, spread over all servers of the corpus; they are only listed. */
function someTools(count = Number.POSITIVE_INFINITY) {
  const all = readdirSync(folder).flatMap((file) =>
    JSON.parse(readFileSync(join(folder, file), "utf8")).tools.map((tool) => ({
      ...tool,
      server: file.replace(/\.json$/, ""),
    })),
  );
  const length = Math.min(count, all.length);
  const servers = {};
  for (let index = 0; index < length; index += 1) {
    const { server, name, description, inputSchema } = all[Math.floor((index * all.length) / length)];
    servers[server] ??= {};
    servers[server][name] = { description, inputSchema, handler: () => "" };
  }
  return servers;
}

async function definitionRow(count, target) {
  const servers = Object.entries(someTools(count)).map(([name, tools]) => [
    name,
    createTestServer({ tools }),
  ]);
  const entries = Object.fromEntries(servers.map(([name, server]) => [name, server.memory()]));
  const whole = createToolport({ mcpServers: entries });
  const deferring = createToolport({ mcpServers: entries, deferTools: true });
  const searching = createCodeMode(whole);
  const declaring = createCodeMode(whole, { discovery: "declare", declareTokens: Number.MAX_SAFE_INTEGER });
  try {
    const shown = async (source) => tokensOf(await toOpenAITools(source, { forModel: false }));
    const { length } = await whole.tools();
    const [direct, deferred, search] = [await shown(whole), await shown(deferring), await shown(searching)];
    const [declared] = await declaring.tools();
    const declarations = await countTokens(
      declared.description.slice(declared.description.indexOf("declare const")),
    );
    const share = declarations / direct;
    target(
      `code mode: \`search\` and \`execute\` at ${length} tools`,
      search,
      MAX_TOOLS,
      search <= MAX_TOOLS,
    );
    if (length <= 100)
      target(
        `code mode: declarations at ${length} tools, share of the definitions`,
        share.toFixed(2),
        MAX_DECLARED.toFixed(2),
        share <= MAX_DECLARED,
      );
    return [
      number(length),
      number(direct),
      number(deferred),
      number(search),
      `${number(declarations)} (${share.toFixed(2)})`,
    ];
  } finally {
    await searching.close();
    await declaring.close();
    await Promise.all([whole.close(), deferring.close()]);
    await Promise.all(servers.map(([, server]) => server.close()));
  }
}

/** The text of the section. @param target notes a measured value beside its limit */
export async function codeSections({ target }) {
  const rows = [];
  for (const count of [10, 100, undefined]) rows.push(await definitionRow(count, target));
  const library = { createToolport, createTestServer, createCodeMode, toOpenAITools, runOpenAIToolCalls };
  const tasks = [];
  for (const more of [{}, someTools(96)]) {
    const { rows: solved, tools } = await runTasks({ ...library, count: countTokens }, more);
    for (const { name, direct, program } of solved) {
      if (direct.answer !== program.answer) throw new Error(`${name}: the answers differ`);
      tasks.push([
        name,
        number(tools),
        `${number(direct.tokens)} (${direct.requests})`,
        `${number(program.tokens)} (${program.requests})`,
        (program.tokens / direct.tokens).toFixed(2),
      ]);
    }
  }
  return [
    "**Definitions before the first word** (o200k tokens, OpenAI's chat format, tools spread over the servers of docs/context.md)",
    table(
      [
        "tools",
        "all definitions",
        "`deferTools`",
        "`search` + `execute`",
        "declarations of all tools (share)",
      ],
      rows,
    ),
    "**Whole tasks** (input tokens of all requests together, number of requests in brackets; a scripted model, no prompt cache, `read_artifact` for large results)",
    table(["task", "tools", "direct calls", "code mode", "share"], tasks),
  ].join("\n\n");
}
