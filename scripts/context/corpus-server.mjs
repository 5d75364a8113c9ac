/**
 * A stdio server of the official SDK with the tools of a file (`node corpus-server.mjs definitions.json`), or with results of
 * 1 MB (`--big`).
 */
import { readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const RESULT_BYTES = 1_000_000;
const NO_ARGUMENTS = { type: "object", properties: {} };

const [file] = process.argv.slice(2);
const isBig = file === "--big";
const tools = isBig
  ? [
      { name: "list_issues", description: "Lists all issues", inputSchema: NO_ARGUMENTS },
      { name: "read_log", description: "Reads the log", inputSchema: NO_ARGUMENTS },
    ]
  : JSON.parse(readFileSync(file, "utf8")).tools.map(({ tokens: _tokens, ...tool }) => tool);

const server = new Server({ name: "corpus", version: "1.0.0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  if (!isBig) throw new Error("These tools are only listed");
  return { content: [{ type: "text", text: params.name === "read_log" ? log() : issues() }] };
});
await server.connect(new StdioServerTransport());

/** A list as APIs return it, indented. */
function issues() {
  const list = [];
  for (let size = 0; size < RESULT_BYTES; ) {
    const id = list.length + 1;
    const issue = {
      id,
      title: `Request ${id} fails after ${id * 7} ms`,
      state: id % 3 === 0 ? "closed" : "open",
      labels: ["bug", `area-${id % 12}`],
      author: { login: `user${id % 40}`, id: 1000 + (id % 40) },
      created_at: new Date(1.7e12 + id * 6e7).toISOString(),
      body: `Steps: send request ${id} with a cold cache, wait, send it again. Expected an answer, got a timeout.`,
    };
    list.push(issue);
    size += JSON.stringify(issue, undefined, 2).length + 40;
  }
  return JSON.stringify({ total: list.length, issues: list }, undefined, 2);
}

function log() {
  const lines = [];
  for (let size = 0; size < RESULT_BYTES; size += lines.at(-1).length + 1) {
    const at = new Date(1.7e12 + lines.length * 1_000).toISOString();
    lines.push(
      `${at} INFO worker-${lines.length % 8} handled request ${lines.length} in ${lines.length % 97} ms`,
    );
  }
  return lines.join("\n");
}
