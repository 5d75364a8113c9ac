/** What models get in code mode: definitions at several sizes of the catalog, and whole tasks beside direct calls. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runOpenAIToolCalls, toOpenAITools } from "../../packages/toolport/dist/adapters/openai/index.js";
import { createCodeMode } from "../../packages/toolport/dist/code/index.js";
import { createToolport } from "../../packages/toolport/dist/index.js";
import { createTestServer } from "../../packages/toolport/dist/testing/index.js";
import { countTokens } from "../count-tokens.mjs";
import { root } from "../fetch-tool.mjs";
import { runTasks } from "./code-tasks.mjs";

const MAX_TOOLS = 450;
const MAX_DECLARED = 0.6;
const MAX_BARE = 0.35;

const folderOf = (corpus) => join(root, "test", "fixtures", corpus);
const number = (value) => Math.round(value).toLocaleString("en-US");
const tokensOf = (value) => countTokens(JSON.stringify(value));

/** A Markdown table: text in the first column, numbers in the others. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), `|---|${"---:|".repeat(head.length - 1)}`, ...rows.map(line)].join("\n");
}

/** `count` tools, spread over all servers of a corpus; they are only listed. */
function someTools(count = Number.POSITIVE_INFINITY, corpus = "definitions") {
  const folder = folderOf(corpus);
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

/** All declarations, as the description of `execute` contains them. */
async function declarationsOf(declaring) {
  const [{ description }] = await declaring.tools();
  const text = description.slice(description.indexOf("The functions:\n") + "The functions:\n".length);
  if (!text.includes("declare const tools")) throw new Error("The declarations are not in the description");
  return text;
}

/** No declaration contains these marks outside of comments, unless a server has them in a name or a value. */
const withoutComments = (text) => text.replace(/^\/\/ .*\n/gm, "").replace(/ \/\* .*? \*\//g, "");

/** Declarations beside the JSON of names and input schemas. The servers of this corpus are stored without descriptions of tools. */
async function schemaRow(count, target) {
  const servers = Object.entries(someTools(count, "schemas")).map(([name, tools]) => [
    name,
    createTestServer({ tools }),
  ]);
  const toolport = createToolport({
    mcpServers: Object.fromEntries(servers.map(([name, server]) => [name, server.memory()])),
  });
  const declaring = createCodeMode(toolport, {
    discovery: "declare",
    declareTokens: Number.MAX_SAFE_INTEGER,
  });
  try {
    const tools = await toolport.tools();
    const json = await tokensOf(tools.map(({ name, inputSchema }) => ({ name, inputSchema })));
    const text = await declarationsOf(declaring);
    const [whole, bare] = [await countTokens(text), await countTokens(withoutComments(text))];
    const [share, bareShare] = [whole / json, bare / json];
    const note = (what, value, limit) =>
      target(
        `${what}, ${tools.length} tools, share of the schemas`,
        value.toFixed(2),
        limit.toFixed(2),
        value <= limit,
      );
    if (count !== undefined) note("declarations", share, MAX_DECLARED);
    note("declarations without comments", bareShare, MAX_BARE);
    return [
      number(tools.length),
      number(json),
      `${number(whole)} (${share.toFixed(2)})`,
      `${number(bare)} (${bareShare.toFixed(2)})`,
    ];
  } finally {
    await declaring.close();
    await toolport.close();
    await Promise.all(servers.map(([, server]) => server.close()));
  }
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
    const declarations = await countTokens(await declarationsOf(declaring));
    const share = declarations / direct;
    target(`\`search\` and \`execute\` at ${length} tools`, search, MAX_TOOLS, search <= MAX_TOOLS);
    if (length <= 100)
      target(
        `declarations at ${length} tools, share of the definitions`,
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

/** The parts of the section. @param target notes a measured value beside its limit */
export async function codeSections({ target }) {
  const rows = [];
  for (const count of [10, 100, undefined]) rows.push(await definitionRow(count, target));
  const schemas = [];
  for (const count of [10, 100, undefined]) schemas.push(await schemaRow(count, target));
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
    "**Declarations beside the schemas alone** (the JSON of names and input schemas of 47 servers in test/fixtures/schemas, which are stored without descriptions of tools: comments are those of parameters)",
    table(["tools", "JSON schemas", "declarations (share)", "without comments (share)"], schemas),
    "**Whole tasks** (input tokens of all requests together, number of requests in brackets; a scripted model, no prompt cache, `read_artifact` for large results)",
    table(["task", "tools", "direct calls", "code mode", "share"], tasks),
  ];
}
