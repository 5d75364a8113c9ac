/** `toolport tools` and `find`: list, describe and search for tools. */
import type { ToolInfo } from "../../model/tool-info.js";
import { CliError } from "../cli-error.js";
import { type Invocation, type RunCommand, textOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { connectForList } from "../connect-servers.js";
import { describeTool, signature } from "../describe-tool.js";
import { EXIT } from "../exit-codes.js";
import { oneLine, plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import { requireTool, serversOf, throwIfMistyped } from "../select-tool.js";

export const toolsCommand: RunCommand = async ({ words: [word] }, context) => {
  let server = word;
  const opened = await context.openPort({
    ...(word !== undefined && {
      servers: (names) => {
        if (names.includes(word)) return [word];
        const found = serversOf(word)(names);
        if (found === undefined) throwIfMistyped(word, names, "tools");
        [server] = found ?? [word];
        return found ?? [word];
      },
    }),
  });
  if (word !== undefined && server !== word) {
    printTool(await requireTool(context, opened, { server, selector: word, command: "tools" }), context);
    return EXIT.ok;
  }
  const { errors, exitCode } = await connectForList(context, opened, server);
  const tools = await opened.toolport.tools({
    all: true,
    signal: context.signal,
    ...(server !== undefined && { servers: [server] }),
  });
  if (context.form === "json") context.printJson({ tools, errors });
  else if (context.form === "raw")
    for (const tool of tools) context.print(plainLine(`${tool.server}.${tool.sourceName}`));
  else if (tools.length === 0) context.info("There are no tools");
  else printRows(context, ["TOOL", "WHAT IT DOES"], tools.map(toRow));
  return exitCode;
};

const toRow = (tool: ToolInfo): string[] => [
  `${tool.server}.${oneLine(signature(tool), 60)}`,
  oneLine(tool.description ?? tool.title ?? "", 100),
];

function printTool(tool: ToolInfo, context: CommandContext): void {
  if (context.form === "json") context.printJson({ tools: [tool], errors: [] });
  else if (context.form === "raw") context.print(JSON.stringify(tool.inputSchema, undefined, 2));
  else context.printPainted(describeTool(tool, context.paint));
}

export const findCommand: RunCommand = async (invocation, context) => {
  const query = invocation.words.join(" ");
  const limit = readLimit(invocation);
  const opened = await context.openPort();
  const { errors, exitCode } = await connectForList(context, opened, undefined);
  const tools = await opened.toolport.searchTools(query, { limit, signal: context.signal });
  if (context.form === "json") context.printJson({ query, tools, errors });
  else if (context.form === "raw")
    for (const tool of tools) context.print(plainLine(`${tool.server}.${tool.sourceName}`));
  else if (tools.length === 0) context.info("No tool matches. List all tools: toolport tools");
  else
    printRows(
      context,
      ["TOOL", "WHAT IT DOES"],
      tools.map((tool) => [
        `${tool.server}.${oneLine(signature(tool), 60)}`,
        oneLine(tool.description ?? tool.title ?? "", 100),
      ]),
    );
  return exitCode;
};

function readLimit(invocation: Invocation): number {
  const limit = Number(textOption(invocation, "limit") ?? 10);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new CliError({ message: "--limit requires a whole number above 0", next: "toolport find --help" });
}
