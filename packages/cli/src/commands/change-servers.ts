/** `toolport remove`, `enable` and `disable`: change servers in Toolport's own files, never in files of other programs. */

import { saveOwnConfig } from "@toolport/config";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { PROJECT, SERVERS } from "../command-options.js";
import { configurationError } from "../errors.js";
import { findOwnFile, savedNames, unknownServer } from "../load-servers.js";
import { shellWord } from "../shell-words.js";

type ServerChange = "remove" | "enable" | "disable";

const changeCommand = (name: ServerChange, summary: string, example: string): CommandSpec => ({
  name,
  summary,
  group: "servers",
  positionals: [SERVERS],
  options: { project: PROJECT },
  examples: [[`toolport ${name} weather`, example]],
  load: async () => (await import("./change-servers.js")).changeServers(name),
});

export const removeCommand = changeCommand(
  "remove",
  "Remove servers from Toolport's own files",
  "files of other programs are never changed",
);
export const enableCommand = changeCommand("enable", "Enable servers again", "use it again");
export const disableCommand = changeCommand(
  "disable",
  "Disable servers without removing them",
  "keep it in the file, but do not use it",
);

const DONE: Readonly<Record<ServerChange, readonly [verb: string, preposition: string]>> = {
  remove: ["Removed", "from"],
  enable: ["Enabled", "in"],
  disable: ["Disabled", "in"],
};

/** The command changes every server that the command line names, or none of them. */
export const changeServers =
  (change: ServerChange): RunCommand =>
  async (context) => {
    /** `file` is null for a server in the saved state. */
    const owners: { name: string; file: string | null }[] = [];
    for (const name of context.words) {
      const file = await findOwnFile(name, context);
      if (file !== undefined) owners.push({ name, file });
      else if (change === "remove" && (await isSaved(name, context))) owners.push({ name, file: null });
      else await throwNotOwn(name, context, change);
    }
    for (const { name, file } of owners) {
      if (file === null) await (await context.openPort({ servers: [name] })).toolport.remove(name);
      else await saveOwnConfig(file, { [change]: [name] });
      const [verb, preposition] = DONE[change];
      context.info(`${verb} ${name} ${preposition} ${file ?? "the saved state"}`, "green");
    }
    if (context.form === "json") context.printJson({ change, servers: owners });
  };

/** True for a server that a program added at run time. */
async function isSaved(name: string, context: CommandContext): Promise<boolean> {
  const { servers } = await context.readServers();
  if (servers.has(name)) return false;
  const { store } = await context.openStore();
  return (await savedNames(store)).includes(name);
}

/** The error of a server that is not in a file of Toolport; it says where the server is and what to do. */
async function throwNotOwn(name: string, context: CommandContext, change: ServerChange): Promise<never> {
  const { servers } = await context.readServers();
  const source = servers.get(name)?.source;
  if (source !== undefined) {
    throw configurationError(
      "FOREIGN_FILE",
      `${name} is configured in ${source.file}:${source.line}, a file of another program (${source.kind}), ` +
        `which is only read. ${change === "remove" ? "Remove it there" : "Edit it there"}, or copy it into Toolport's own file`,
      `toolport import ${shellWord(name)} --from ${source.kind}`,
    );
  }
  throw unknownServer(name, [...servers.keys()], { issues: [], command: change });
}
