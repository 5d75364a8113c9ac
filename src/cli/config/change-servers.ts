/** Removes, enables and disables servers in our own files; those of other programs are only read. */
import { saveOwnConfig } from "../../node/save-own-config.js";
import { suggest } from "../../util/suggest.js";
import { CliError } from "../cli-error.js";
import type { Invocation } from "../command.js";
import { EXIT } from "../exit-codes.js";
import { shellWord } from "../next-command.js";
import type { Shell } from "../shell.js";
import { findOwnFile } from "./own-files.js";

export type ServerChange = "remove" | "enable" | "disable";

const DONE: Readonly<Record<ServerChange, string>> = {
  remove: "Removed",
  enable: "Enabled",
  disable: "Disabled",
};

/** Changes every server that the command line names, or none of them. */
export async function changeServers(
  invocation: Invocation,
  shell: Shell,
  change: ServerChange,
): Promise<number> {
  /** `file` is null for a server that only the saved state has. */
  const found: { name: string; file: string | null }[] = [];
  for (const name of invocation.words) {
    const file = await findOwnFile(name, invocation, shell);
    if (file !== undefined) found.push({ name, file });
    else if (change === "remove" && (await isSaved(name, shell))) found.push({ name, file: null });
    else await elsewhere(name, shell, change);
  }
  for (const { name, file } of found) {
    if (file === null) await (await shell.openPort({ servers: [name] })).toolport.remove(name);
    else await saveOwnConfig(file, { [change]: [name] });
    shell.tell(`${DONE[change]} ${name} in ${file ?? "the saved state"}`, "green");
  }
  if (shell.form === "json") shell.printJson({ change, servers: found });
  return EXIT.ok;
}

/** A program added it at run time. */
async function isSaved(name: string, shell: Shell): Promise<boolean> {
  const { servers } = await shell.readServers();
  if (servers.has(name)) return false;
  const { store } = await shell.openStore();
  return (await store.list(`servers//${encodeURIComponent(name)}`)).includes(
    `servers//${encodeURIComponent(name)}`,
  );
}

/** The server is in no file of ours: says where it is, and what to do there. */
async function elsewhere(name: string, shell: Shell, change: ServerChange): Promise<never> {
  const { servers } = await shell.readServers();
  const source = servers.get(name)?.source;
  if (source !== undefined) {
    throw new CliError({
      code: "FOREIGN_FILE",
      exitCode: EXIT.configuration,
      message:
        `${name} is configured in ${source.file}:${source.line}, a file of another program (${source.kind}), ` +
        `which is only read. ${change === "remove" ? "Remove it there" : "Edit it there"}, or copy it into a file of Toolport's`,
      next: `toolport import ${shellWord(name)} --from ${source.kind}`,
    });
  }
  const [close] = suggest(name, [...servers.keys()], 1);
  throw new CliError({
    code: "UNKNOWN_SERVER",
    exitCode: EXIT.configuration,
    message: `There is no server ${JSON.stringify(name)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    next: close === undefined ? "toolport list" : `toolport ${change} ${shellWord(close)}`,
  });
}
