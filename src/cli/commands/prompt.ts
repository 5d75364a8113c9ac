/** `toolport prompt`: one prompt, filled in. */
import { toContentPart } from "../../content/content-part.js";
import { CliError } from "../cli-error.js";
import type { Invocation } from "../command.js";
import { requireServer } from "../connect-servers.js";
import { EXIT } from "../exit-codes.js";
import type { Shell } from "../shell.js";
import { shownPart } from "../shown-part.js";

export async function run({ words }: Invocation, shell: Shell): Promise<number> {
  const [server = "", name = "", ...given] = words;
  const args = Object.fromEntries(given.map(readPair));
  const opened = await shell.openPort({ servers: [server] });
  await requireServer(shell, opened, server);
  const prompt = await opened.toolport.getPrompt(server, name, args, {
    signal: shell.signal,
    ...(shell.timeoutMs !== undefined && { timeoutMs: shell.timeoutMs }),
  });
  if (shell.form === "json") {
    const { description, messages, _meta } = prompt;
    shell.printJson({ server, name, description, messages, _meta });
    return EXIT.ok;
  }
  for (const { role, content } of prompt.messages) {
    if (shell.form === "text")
      shell.printPainted([shell.paint("bold", `${role === "user" ? "user" : "assistant"}:`)]);
    shell.print(shownPart(toContentPart(content)));
  }
  return EXIT.ok;
}

/** Arguments of prompts are texts, whatever they look like. */
function readPair(word: string): [string, string] {
  const mark = word.indexOf("=");
  if (mark > 0) return [word.slice(0, mark), word.slice(mark + 1)];
  throw new CliError({
    message: `${JSON.stringify(word)} is no argument; write key=value`,
    next: "toolport prompt --help",
  });
}
