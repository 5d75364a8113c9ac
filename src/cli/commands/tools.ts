/** `toolport tools`: what can be called. */
import type { ToolInfo } from "../../model/tool-info.js";
import type { Invocation } from "../command.js";
import { connectForList } from "../connect-servers.js";
import { describeTool, signature } from "../describe-tool.js";
import { EXIT } from "../exit-codes.js";
import { oneLine, plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import { requireTool, serversOf, throwIfMistyped } from "../select-tool.js";
import type { Shell } from "../shell.js";

export async function run({ words: [word] }: Invocation, shell: Shell): Promise<number> {
  let server = word;
  const opened = await shell.openPort({
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
    printTool(await requireTool(shell, opened, { server, selector: word, command: "tools" }), shell);
    return EXIT.ok;
  }
  const { errors, exitCode } = await connectForList(shell, opened, server);
  const tools = await opened.toolport.tools({
    all: true,
    signal: shell.signal,
    ...(server !== undefined && { servers: [server] }),
  });
  if (shell.form === "json") shell.printJson({ tools, errors });
  else if (shell.form === "raw")
    for (const tool of tools) shell.print(plainLine(`${tool.server}.${tool.sourceName}`));
  else if (tools.length === 0) shell.tell("There are no tools");
  else printRows(shell, ["TOOL", "WHAT IT DOES"], tools.map(toRow));
  return exitCode;
}

const toRow = (tool: ToolInfo): string[] => [
  `${tool.server}.${oneLine(signature(tool), 60)}`,
  oneLine(tool.description ?? tool.title ?? "", 100),
];

function printTool(tool: ToolInfo, shell: Shell): void {
  if (shell.form === "json") shell.printJson({ tools: [tool], errors: [] });
  else if (shell.form === "raw") shell.print(JSON.stringify(tool.inputSchema, undefined, 2));
  else shell.printPainted(describeTool(tool, shell.paint));
}
