/** `toolport find`: tools by words. */
import { CliError } from "../cli-error.js";
import { type Invocation, textOption } from "../command.js";
import { connectForList } from "../connect-servers.js";
import { signature } from "../describe-tool.js";
import { oneLine, plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import type { Shell } from "../shell.js";

export async function run(invocation: Invocation, shell: Shell): Promise<number> {
  const query = invocation.words.join(" ");
  const limit = readLimit(invocation);
  const opened = await shell.openPort();
  const { errors, exitCode } = await connectForList(shell, opened, undefined);
  const tools = await opened.toolport.searchTools(query, { limit, signal: shell.signal });
  if (shell.form === "json") shell.printJson({ query, tools, errors });
  else if (shell.form === "raw")
    for (const tool of tools) shell.print(plainLine(`${tool.server}.${tool.sourceName}`));
  else if (tools.length === 0) shell.tell("No tool fits. All there are: toolport tools");
  else
    printRows(
      shell,
      ["TOOL", "WHAT IT DOES"],
      tools.map((tool) => [
        `${tool.server}.${oneLine(signature(tool), 60)}`,
        oneLine(tool.description ?? tool.title ?? "", 100),
      ]),
    );
  return exitCode;
}

function readLimit(invocation: Invocation): number {
  const limit = Number(textOption(invocation, "limit") ?? 10);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new CliError({ message: "--limit needs a whole number above 0", next: "toolport find --help" });
}
