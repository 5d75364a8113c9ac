/** `toolport resources` and `read`, `prompts` and `prompt`: list resources and prompts, and read or get one. */

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ResourceContents } from "@toolport/base";
import { toContentParts } from "@toolport/core";
import { formatPart } from "../call-result.js";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { ARGUMENTS, OPTIONAL_SERVER, SERVER, TYPED_OPTIONS, text } from "../command-options.js";
import { connectForList, requireServer } from "../connect-servers.js";
import { CliError, usageError } from "../errors.js";
import { oneLine } from "../plain-text.js";
import { shellWord } from "../shell-words.js";

export const readCommand: CommandSpec = {
  name: "read",
  summary: "Read a resource",
  group: "use",
  positionals: [SERVER, { name: "uri", summary: "URI of the resource", completes: "resource" }],
  options: { out: text("<file>", "Write to this file"), ...TYPED_OPTIONS },
  takesTyped: "server",
  examples: [
    ["toolport read docs docs://index", "print its text"],
    ["toolport read docs docs://logo.png --out logo.png", "save its bytes"],
  ],
  load: async () => (await import("./resources.js")).runRead,
};

const listCommand = (name: "resources" | "prompts", summary: string, example: string): CommandSpec => ({
  name,
  summary,
  group: "look",
  positionals: [OPTIONAL_SERVER],
  options: TYPED_OPTIONS,
  takesTyped: "server",
  examples: [[`toolport ${name} docs`, example]],
  load: async () => (await import("./resources.js")).LISTS[name],
});

export const resourcesCommand = listCommand(
  "resources",
  "List resources and resource templates",
  "the resources of one server",
);

export const promptsCommand = listCommand("prompts", "List prompts", "the prompts of one server");

/** Connects the named server, or all. `isWanted`: the entry belongs to it. */
async function openList(context: CommandContext) {
  const [server] = context.words;
  const opened = await context.openPort({ servers: context.words });
  const { errors, exitCode } = await connectForList(context, opened, server);
  const isWanted = (info: { server: string }) => server === undefined || info.server === server;
  return { toolport: opened.toolport, errors, exitCode, isWanted };
}

const runResources: RunCommand = async (context) => {
  const { toolport, errors, exitCode, isWanted } = await openList(context);
  const { signal } = context;
  const resources = (await toolport.resources({ signal })).filter(isWanted);
  const resourceTemplates = (await toolport.resourceTemplates({ signal })).filter(isWanted);
  const all = [
    ...resources,
    ...resourceTemplates.map(({ uriTemplate, ...info }) => ({ ...info, uri: uriTemplate })),
  ];
  context.printList({
    document: { resources, resourceTemplates, errors },
    names: all.map(({ uri }) => uri),
    titles: ["SERVER", "URI", "TYPE", "NAME"],
    rows: all.map(({ server, uri, mimeType, title, name, description }) => [
      ...[server, uri, mimeType],
      oneLine([title ?? name, description].filter(Boolean).join(": "), 80),
    ]),
    none: "There are no resources",
  });
  return exitCode;
};

const runPrompts: RunCommand = async (context) => {
  const { toolport, errors, exitCode, isWanted } = await openList(context);
  const prompts = (await toolport.prompts({ signal: context.signal })).filter(isWanted);
  context.printList({
    document: { prompts, errors },
    names: prompts.map(({ name }) => name),
    titles: ["SERVER", "PROMPT", "WHAT IT DOES"],
    rows: prompts.map(({ server, name, arguments: args = [], title, description }) => [
      server,
      `${name}(${args.map((argument) => `${argument.name}${argument.required === true ? "" : "?"}`).join(", ")})`,
      oneLine(description ?? title ?? "", 100),
    ]),
    none: "There are no prompts",
  });
  return exitCode;
};

export const runRead: RunCommand = async (context) => {
  const [server = "", uri = ""] = context.words;
  const opened = await context.openPort({ servers: [server] });
  await requireServer(context, opened, server);
  const contents = await context.progress(`Reading ${uri}`, () =>
    opened.toolport.readResource(server, uri, context.callOptions),
  );
  const out = context.text("out");
  if (out !== undefined) await saveContent(contents, resolve(context.cwd, out), context);
  if (context.form === "json") context.printJson({ server, uri, contents });
  if (context.form === "json" || out !== undefined) return;
  for (const content of contents) {
    const { text, blob = "", mimeType = "unknown type" } = content;
    if (context.form === "text" && contents.length > 1) context.info(`${content.uri}:`, "dim");
    if (text !== undefined) context.print(text);
    else if (context.form === "raw") await context.printBytes(Buffer.from(blob, "base64"));
    else context.print(`[${mimeType}, ${Buffer.from(blob, "base64").length} bytes]`);
  }
  if (context.form === "text" && contents.some(({ text }) => text === undefined))
    context.info(`Save its bytes: toolport read ${shellWord(server)} ${shellWord(uri)} --out <file>`, "dim");
};

async function saveContent(contents: readonly ResourceContents[], path: string, context: CommandContext) {
  const [content] = contents;
  if (content === undefined || contents.length > 1)
    throw new CliError(
      `The resource has ${contents.length} contents, and --out writes only one`,
      `toolport read … --json`,
      { code: "SEVERAL_CONTENTS" },
    );
  const { text, blob = "" } = content;
  const bytes = text === undefined ? Buffer.from(blob, "base64") : Buffer.from(text, "utf8");
  await writeFile(path, bytes);
  context.info(`Wrote ${path} (${bytes.length} bytes)`);
}

export const promptCommand: CommandSpec = {
  name: "prompt",
  summary: "Get a prompt, filled in with arguments",
  group: "use",
  positionals: [
    SERVER,
    { name: "name", summary: "Name of the prompt", completes: "prompt" },
    { ...ARGUMENTS, summary: "Any number of key=value or --key value", completes: undefined },
  ],
  options: TYPED_OPTIONS,
  takesTyped: "server",
  takesNamed: true,
  examples: [["toolport prompt docs review file=src/main.ts", "print its messages"]],
  load: async () => (await import("./resources.js")).runPrompt,
};

export const LISTS = { resources: runResources, prompts: runPrompts } as const;

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
    return context.printJson({ server, name, description, messages, _meta });
  }
  for (const { role, content } of prompt.messages) {
    if (context.form === "text")
      context.printPainted([context.paint("bold", `${role === "user" ? "user" : "assistant"}:`)]);
    for (const part of toContentParts([content])) context.print(formatPart(part));
  }
};

/** Arguments of prompts are always strings. */
function readPair(word: string): [string, string] {
  const mark = word.indexOf("=");
  if (mark > 0) return [word.slice(0, mark), word.slice(mark + 1)];
  throw usageError("prompt", `${JSON.stringify(word)} is not an argument; write key=value`);
}
