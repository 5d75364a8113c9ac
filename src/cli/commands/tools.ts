/** `toolport tools` and `find`: list, describe and search for tools. */

import type { ToolInfo } from "../../model/tool-info.js";
import type { ToolCost, ToolCosts } from "../../port/tool-costs.js";
import type { CommandContext, CommandSpec, OpenedPort, RunCommand } from "../command.js";
import { flag, TYPED_OPTIONS, text } from "../command-options.js";
import {
  connectForList,
  type ListedErrors,
  requireTool,
  serversOf,
  throwIfMistyped,
} from "../connect-servers.js";
import { printRows } from "../create-command-context.js";
import { describeTool, signature } from "../describe-tool.js";
import { CliError, EXIT } from "../errors.js";
import { about, oneLine, plainLine, plural } from "../plain-text.js";

export const toolsCommand: CommandSpec = {
  name: "tools",
  summary: "List tools, or describe one tool",
  group: "look",
  positionals: [
    {
      name: "server",
      summary: "Only this server (a name or a URL), or server.tool for one tool",
      completes: "tool",
      optional: true,
    },
  ],
  options: {
    cost: flag("Show about how many tokens each tool takes, largest first"),
    ...TYPED_OPTIONS,
  },
  takesTyped: "tool",
  examples: [
    ["toolport tools", "the tools of all servers"],
    ["toolport tools --cost", "what their definitions cost in every request to a model"],
    ["toolport tools weather.forecast", "one tool, with its arguments"],
    ["toolport tools https://example.com/mcp", "a server that is not configured"],
    ["toolport tools -- npx -y @modelcontextprotocol/server-everything", "the same for a command"],
  ],
  load: async () => (await import("./tools.js")).runTools,
};

export const findCommand: CommandSpec = {
  name: "find",
  summary: "Search for tools",
  group: "look",
  positionals: [{ name: "words", summary: "What the tool should do", completes: "none", rest: true }],
  options: { limit: text("<count>", "Maximum number of tools (10)") },
  examples: [["toolport find weather forecast", "the best matches come first"]],
  load: async () => (await import("./tools.js")).runFind,
};

export const runTools: RunCommand = async (context) => {
  const {
    words: [word],
  } = context;
  let server = word;
  const opened = await context.openPort({
    ...(word !== undefined && {
      servers: (names) => {
        if (names.includes(word)) return [word];
        const found = serversOf(word)(names);
        if (found === undefined) throwIfMistyped(word, names, context);
        [server] = found ?? [word];
        return found ?? [word];
      },
    }),
  });
  const withCost = context.flag("cost");
  if (word !== undefined && server !== word) {
    const tool = await requireTool(context, opened, { server, selector: word });
    if (withCost) await printCosts([tool], { opened, context, only: tool });
    else printTool(tool, context);
    return EXIT.ok;
  }
  const { errors, exitCode } = await connectForList(context, opened, server);
  const tools = await opened.toolport.tools({
    all: true,
    signal: context.signal,
    ...(server !== undefined && { servers: [server] }),
  });
  if (withCost) await printCosts(tools, { opened, errors, context });
  else if (context.form === "json") context.printJson({ tools, errors });
  else if (context.form === "raw")
    for (const tool of tools) context.print(plainLine(`${tool.server}.${tool.sourceName}`));
  else if (tools.length === 0) context.info("There are no tools");
  else printRows(context, ["TOOL", "WHAT IT DOES"], tools.map(toRow));
  return exitCode;
};

const toRow = (tool: ToolInfo): string[] => [
  `${tool.server}.${signature(tool)}`,
  oneLine(tool.description ?? tool.title ?? "", 100),
];

/** Prints what the definitions of the tools cost in every request to a model, largest first. */
async function printCosts(
  tools: readonly ToolInfo[],
  {
    opened,
    context,
    errors = [],
    only,
  }: { opened: OpenedPort; context: CommandContext; errors?: ListedErrors["errors"]; only?: ToolInfo },
): Promise<void> {
  const servers = [...new Set(tools.map(({ server }) => server))];
  const costs = await opened.toolport.cost({ servers, signal: context.signal });
  const listed = only === undefined ? costs.tools : costs.tools.filter(({ name }) => name === only.name);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  /** Toolport's own tools have no other name. */
  const label = ({ name, server }: ToolCost) => `${server}.${byName.get(name)?.sourceName ?? name}`;
  if (context.form === "json")
    context.printJson({
      ...(only === undefined ? costs : { estimated: costs.estimated }),
      tools: listed,
      errors,
    });
  else if (context.form === "raw") for (const tool of listed) context.print(plainLine(label(tool)));
  else if (listed.length === 0) context.info("There are no tools");
  else {
    const rows = listed.map((tool) => [
      oneLine(label(tool), 60),
      about(tool.tokens),
      tool.deferred ? "deferred" : "shown",
      oneLine(byName.get(tool.name)?.description ?? "", 60),
    ]);
    const tokens = { title: "TOKENS", align: "right" } as const;
    printRows(context, ["TOOL", tokens, "AT START", "WHAT IT DOES"], rows);
    if (only === undefined) context.print(`\n${totals(costs)}`);
  }
}

const totals = ({ tools, tokens, shown }: ToolCosts): string =>
  `${plural(tools.length, "tool")}, ${about(tokens)} tokens (estimated)${shown === tokens ? "" : `. A model gets ${about(shown)} at the start`}`;

function printTool(tool: ToolInfo, context: CommandContext): void {
  if (context.form === "json") context.printJson({ tools: [tool], errors: [] });
  else if (context.form === "raw") context.print(JSON.stringify(tool.inputSchema, undefined, 2));
  else context.printPainted(describeTool(tool, context));
}

export const runFind: RunCommand = async (context) => {
  const query = context.words.join(" ");
  const limit = readLimit(context);
  const opened = await context.openPort();
  const { errors, exitCode } = await connectForList(context, opened, undefined);
  const tools = await opened.toolport.searchTools(query, { limit, signal: context.signal });
  if (context.form === "json") context.printJson({ query, tools, errors });
  else if (context.form === "raw")
    for (const tool of tools) context.print(plainLine(`${tool.server}.${tool.sourceName}`));
  else if (tools.length === 0) context.info("No tool matches. List all tools: toolport tools");
  else printRows(context, ["TOOL", "WHAT IT DOES"], tools.map(toRow));
  return exitCode;
};

function readLimit(context: CommandContext): number {
  const limit = Number(context.text("limit") ?? 10);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new CliError("--limit requires a whole number above 0", "toolport find --help");
}
