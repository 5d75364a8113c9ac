/** `toolport prompts` and `prompt`: list prompts, and get one. */

import { toContentPart } from "../../content/content-part.js";
import { formatPart } from "../call-result.js";
import type { CommandSpec, RunCommand } from "../command.js";
import { ARGUMENTS, OPTIONAL_SERVER, SERVER, TYPED_OPTIONS } from "../command-options.js";
import { connectForList, requireServer } from "../connect-servers.js";
import { EXIT, usageError } from "../errors.js";
import { oneLine, plainLine } from "../plain-text.js";

export const promptCommand: CommandSpec = {
  name: "prompt",
  summary: "Get a prompt, filled in with arguments",
  group: "use",
  positionals: [
    SERVER,
    { name: "name", summary: "Name of the prompt", completes: "prompt" },
    { ...ARGUMENTS, summary: "Any number of key=value or --key value", completes: "none" },
  ],
  options: TYPED_OPTIONS,
  takesTyped: "server",
  takesNamed: true,
  examples: [["toolport prompt docs review file=src/main.ts", "print its messages"]],
  load: async () => (await import("./prompts.js")).runPrompt,
};

export const promptsCommand: CommandSpec = {
  name: "prompts",
  summary: "List prompts",
  group: "look",
  positionals: [OPTIONAL_SERVER],
  options: TYPED_OPTIONS,
  takesTyped: "server",
  examples: [["toolport prompts", "the prompts of all servers"]],
  load: async () => (await import("./prompts.js")).runPrompts,
};

export const runPrompts: RunCommand = async (context) => {
  const [server] = context.words;
  const opened = await context.openPort({ servers: context.words });
  const { errors, exitCode } = await connectForList(context, opened, server);
  const all = await opened.toolport.prompts({ signal: context.signal });
  const prompts = all.filter((prompt) => server === undefined || prompt.server === server);
  if (context.form === "json") context.printJson({ prompts, errors });
  else if (context.form === "raw") for (const { name } of prompts) context.print(plainLine(name));
  else if (prompts.length === 0) context.info("There are no prompts");
  else
    context.printRows(
      ["SERVER", "PROMPT", "WHAT IT DOES"],
      prompts.map(({ server: owner, name, arguments: given = [], title, description }) => [
        owner,
        `${name}(${given.map((argument) => `${argument.name}${argument.required === true ? "" : "?"}`).join(", ")})`,
        oneLine(description ?? title ?? "", 100),
      ]),
    );
  return exitCode;
};

export const runPrompt: RunCommand = async (context) => {
  const { words, named } = context;
  const [server = "", name = "", ...given] = words;
  const options = named.map(({ name: key, text = "true" }): [string, string] => [key, text]);
  const args = Object.fromEntries([...options, ...given.map(readPair)]);
  const opened = await context.openPort({ servers: [server] });
  await requireServer(context, opened, server);
  const prompt = await opened.toolport.getPrompt(server, name, args, context.callOptions);
  if (context.form === "json") {
    const { description, messages, _meta } = prompt;
    context.printJson({ server, name, description, messages, _meta });
    return EXIT.ok;
  }
  for (const { role, content } of prompt.messages) {
    if (context.form === "text")
      context.printPainted([context.paint("bold", `${role === "user" ? "user" : "assistant"}:`)]);
    context.print(formatPart(toContentPart(content)));
  }
  return EXIT.ok;
};

/** Arguments of prompts are always strings. */
function readPair(word: string): [string, string] {
  const mark = word.indexOf("=");
  if (mark > 0) return [word.slice(0, mark), word.slice(mark + 1)];
  throw usageError("prompt", `${JSON.stringify(word)} is not an argument; write key=value`);
}
