/** `toolport export`: writes servers in the format of another program. */

import { existsSync } from "node:fs";
import { chmod, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { ServerEntry } from "../../config/server-entry.js";
import { type ExportDialect, exportConfig } from "../../node/export-config.js";
import type { WrittenServer } from "../../node/read-servers.js";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { flag, SERVERS, text } from "../command-options.js";
import { CliError, configurationError, EXIT } from "../errors.js";
import { unknownServer } from "../load-servers.js";
import { plural } from "../plain-text.js";

export const exportCommand: CommandSpec = {
  name: "export",
  summary: "Write servers in the format of another program",
  group: "servers",
  positionals: [{ ...SERVERS, summary: "Only these servers", optional: true }],
  options: {
    format: text("<program>", "The program to write for (toolport)", [
      "vscode",
      "claude",
      "cursor",
      "toolport",
    ]),
    out: text("<file>", "Write to this file"),
    "keep-secrets": flag("Include the values of headers and variables"),
  },
  examples: [["toolport export --format vscode --out .vscode/mcp.json", "secrets become inputs"]],
  load: async () => (await import("./export.js")).runExport,
};

/** Only the owner may read a file with secrets. */
const PRIVATE_MODE = 0o600;

export const runExport: RunCommand = async (context) => {
  const format = (context.text("format") ?? "toolport") as ExportDialect;
  const keepsSecrets = context.flag("keep-secrets");
  const servers = await chooseServers(context.words, context);
  const secrets = keepsSecrets ? "keep" : "variables";
  const { text, variables, warnings } = exportConfig(servers, format, { secrets });
  for (const warning of warnings) context.warn(warning);
  const out = context.text("out");
  const file = out === undefined ? undefined : resolve(context.cwd, out);
  if (file !== undefined) await write(file, text, { isPrivate: keepsSecrets, context });
  if (context.form === "json") {
    const config: unknown = JSON.parse(text);
    const names = Object.keys(servers);
    context.printJson({ format, file: file ?? null, servers: names, config, variables, warnings });
    return EXIT.ok;
  }
  if (file === undefined) context.print(text.trimEnd());
  else context.info(`Wrote ${plural(Object.keys(servers).length, "server")} to ${file}`, "green");
  if (variables.length > 0) {
    const asks = format === "vscode" ? "VS Code will ask for" : "Set these variables";
    context.info(`Values of headers and variables were left out. ${asks}: ${variables.join(", ")}`, "yellow");
  }
  return EXIT.ok;
};

/** The output contains expanded variables, so servers of project files need the user's consent. */
async function chooseServers(
  names: readonly string[],
  context: CommandContext,
): Promise<Record<string, ServerEntry>> {
  const written = await context.readServers();
  const all = [...written.servers.keys()];
  for (const name of names) if (!all.includes(name)) throw unknownServer(name, all, written);
  const { config, leftOut, consentError } = await context.loadServers(names.length === 0 ? all : names);
  if (consentError !== undefined && !context.isInteractive) throw consentError;
  const { mcpServers, issues } = config;
  for (const { file, line, path, message } of issues) context.warn(`${file}:${line}: ${path} ${message}`);
  for (const name of names) {
    const error = leftOut.get(name);
    if (error !== undefined) throw error;
    if (!Object.hasOwn(mcpServers, name)) throw unknownServer(name, all, config);
  }
  for (const [name, { message }] of leftOut) context.warn(`${name} is left out: ${message}`);
  const entries = Object.entries(mcpServers);
  if (entries.length > 0)
    return Object.fromEntries(
      entries.map(([name, entry]) => [name, withoutOwnFolder(entry, written.servers.get(name)!)]),
    );
  throw configurationError("NO_SERVERS", "There are no servers to export", "toolport add <name> <url>");
}

/**
 * Toolport starts a server of the user's own file in the folder of that file. Other programs need that folder only for arguments that are
 * relative paths, and some do not support one.
 */
function withoutOwnFolder(entry: ServerEntry, { raw, source }: WrittenServer): ServerEntry {
  const { cwd, ...rest } = entry as ServerEntry & { cwd?: string; args?: readonly string[] };
  const isOwn = source.kind === "toolport" && raw?.["cwd"] === undefined;
  if (!isOwn || cwd === undefined || cwd !== dirname(source.file)) return entry;
  const isNeeded = (arg: string) => /(?:^|=)\.{1,2}(?:[\\/]|$)/.test(arg) || existsSync(resolve(cwd, arg));
  return rest.args?.some(isNeeded) ? entry : rest;
}

async function write(
  file: string,
  text: string,
  { isPrivate, context }: { isPrivate: boolean; context: CommandContext },
): Promise<void> {
  const isThere = (await stat(file).catch(() => undefined)) !== undefined;
  if (isThere && !(await context.confirm(`${file} already exists. Replace it?`))) {
    throw new CliError(`${file} already exists and would be overwritten`, "toolport export … --yes", {
      code: "FILE_EXISTS",
    });
  }
  await writeFile(file, text, isPrivate ? { mode: PRIVATE_MODE } : {});
  // `writeFile` sets the mode of new files only.
  if (isPrivate && isThere) await chmod(file, PRIVATE_MODE);
}
