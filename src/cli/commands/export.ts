/** `toolport export`: writes servers the way another program wants them. */
import { chmod, stat, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ServerEntry } from "../../config/server-entry.js";
import { type ExportDialect, exportConfig } from "../../node/export-config.js";
import { CliError } from "../cli-error.js";
import { type CommandModule, flagOption, textOption } from "../command.js";
import { EXIT } from "../exit-codes.js";
import { unknownServer } from "../open-port.js";
import type { Shell } from "../shell.js";

/** Only the owner may read what holds secrets. */
const PRIVATE_MODE = 0o600;

export const run: CommandModule["run"] = async (invocation, shell) => {
  const format = (textOption(invocation, "format") ?? "toolport") as ExportDialect;
  const keepsSecrets = flagOption(invocation, "keep-secrets");
  const servers = await chooseServers(invocation.words, shell);
  const secrets = keepsSecrets ? "keep" : "variables";
  const { text, variables, warnings } = exportConfig(servers, format, { secrets });
  for (const warning of warnings) shell.warn(warning);
  const out = textOption(invocation, "out");
  const file = out === undefined ? undefined : resolve(shell.cwd, out);
  if (file !== undefined) await write(file, text, { isPrivate: keepsSecrets, shell });
  if (shell.form === "json") {
    const config: unknown = JSON.parse(text);
    shell.printJson({
      format,
      file: file ?? null,
      servers: Object.keys(servers),
      config,
      variables,
      warnings,
    });
    return EXIT.ok;
  }
  if (file === undefined) shell.print(text.trimEnd());
  else shell.tell(`Wrote ${Object.keys(servers).length} servers to ${file}`, "green");
  if (variables.length > 0) {
    const asks = format === "vscode" ? "It will ask for" : "Set these variables for it";
    shell.tell(`Values of headers and variables were left out. ${asks}: ${variables.join(", ")}`, "yellow");
  }
  return EXIT.ok;
};

/** Values of variables are written out, so that servers of a project's file need the user's consent here, too. */
async function chooseServers(names: readonly string[], shell: Shell): Promise<Record<string, ServerEntry>> {
  const written = await shell.readServers();
  const all = [...written.servers.keys()];
  for (const name of names) if (!all.includes(name)) throw unknownServer(name, all, written);
  const { config, leftOut, refusal } = await shell.loadServers(names.length === 0 ? all : names);
  if (refusal !== undefined && !shell.isInteractive) throw refusal;
  const { mcpServers, issues } = config;
  for (const { file, line, path, message } of issues) shell.warn(`${file}:${line}: ${path} ${message}`);
  for (const name of names) {
    const error = leftOut.get(name);
    if (error !== undefined) throw error;
    if (!Object.hasOwn(mcpServers, name)) throw unknownServer(name, all, config);
  }
  for (const [name, { message }] of leftOut) shell.warn(`${name} is left out: ${message}`);
  if (Object.keys(mcpServers).length > 0) return mcpServers;
  throw new CliError({
    code: "NO_SERVERS",
    exitCode: EXIT.configuration,
    message: "There are no servers to export",
    next: "toolport add <name> <url>",
  });
}

async function write(
  file: string,
  text: string,
  { isPrivate, shell }: { isPrivate: boolean; shell: Shell },
): Promise<void> {
  const isThere = (await stat(file).catch(() => undefined)) !== undefined;
  if (isThere && !(await shell.confirm(`${file} is there already. Replace it?`))) {
    throw new CliError({
      code: "FILE_EXISTS",
      message: `${file} is there already, and nothing of it would be left`,
      next: "toolport export … --yes",
    });
  }
  await writeFile(file, text, isPrivate ? { mode: PRIVATE_MODE } : {});
  // The mode counts for new files only.
  if (isPrivate && isThere) await chmod(file, PRIVATE_MODE);
}
