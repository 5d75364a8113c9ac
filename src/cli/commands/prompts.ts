/** `toolport prompts`: what can be filled in. */
import type { Invocation } from "../command.js";
import { connectForList } from "../connect-servers.js";
import { oneLine, plainLine } from "../plain-text.js";
import { printRows } from "../print-rows.js";
import type { Shell } from "../shell.js";

export async function run({ words: [server] }: Invocation, shell: Shell): Promise<number> {
  const opened = await shell.openPort(server === undefined ? {} : { servers: [server] });
  const { errors, exitCode } = await connectForList(shell, opened, server);
  const all = await opened.toolport.prompts({ signal: shell.signal });
  const prompts = all.filter((prompt) => server === undefined || prompt.server === server);
  if (shell.form === "json") shell.printJson({ prompts, errors });
  else if (shell.form === "raw") for (const { name } of prompts) shell.print(plainLine(name));
  else if (prompts.length === 0) shell.tell("There are no prompts");
  else
    printRows(
      shell,
      ["SERVER", "PROMPT", "WHAT IT DOES"],
      prompts.map(({ server: owner, name, arguments: given = [], title, description }) => [
        owner,
        `${name}(${given.map((argument) => `${argument.name}${argument.required === true ? "" : "?"}`).join(", ")})`,
        oneLine(description ?? title ?? "", 100),
      ]),
    );
  return exitCode;
}
