/** Locates Toolport's own configuration files: the one to write to, and the one that contains a server. Describes entries. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { valueAt } from "../config/config-document.js";
import { isRecord } from "../config/entry-reader.js";
import type { ServerEntry } from "../config/server-entry.js";
import { ownConfigFile } from "../node/config-locations.js";
import { type CommandDescription, describeCommand } from "../node/describe-command.js";
import { findConfigs } from "../node/find-configs.js";
import { readDocument } from "../node/read-document.js";
import type { CommandContext } from "./command.js";
import { plainLine } from "./plain-text.js";

/** The file for a new server: `--config`, the project's file with `--project`, or the user's file. */
export async function ownFileFor(context: CommandContext): Promise<string> {
  const [named] = context.texts("config");
  if (named !== undefined) return asFile(resolve(context.cwd, named));
  if (context.flag("project")) return join(context.cwd, "toolport.json");
  return ownConfigFile(context.surroundings);
}

/** All own files that this command may change, in order of precedence. */
async function ownFiles(context: CommandContext): Promise<string[]> {
  const named = context.texts("config");
  if (named.length > 0) return Promise.all(named.map((path) => asFile(resolve(context.cwd, path))));
  const scope = context.flag("project") ? "project" : "all";
  const found = await findConfigs({ ...context.surroundings, dialects: ["toolport"], scope });
  return found.map(({ file }) => file);
}

/** The own file that contains a server, even if its entry is invalid. */
export async function findOwnFile(name: string, context: CommandContext): Promise<string | undefined> {
  for (const file of await ownFiles(context)) {
    if ((await serversIn(file)).includes(name)) return file;
  }
  return undefined;
}

/** Names of the servers in an own file; empty if the file is unreadable. */
async function serversIn(file: string): Promise<string[]> {
  try {
    const servers = valueAt((await readDocument(file)).root, ["mcpServers"]);
    return isRecord(servers) ? Object.keys(servers) : [];
  } catch {
    return [];
  }
}

async function asFile(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true ? join(path, "toolport.json") : path;
}

/** Like `describeCommand`. Falls back to the fields of an entry that is incomplete, such as a URL with a variable. */
export function describeEntry(
  entry: unknown,
): Pick<CommandDescription, "command" | "startsProcess" | "text"> {
  try {
    return describeCommand(entry as ServerEntry);
  } catch {
    const { command, args, url, image } = entry as Record<string, unknown>;
    const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
    const shown = plainLine(words.length > 0 ? words.join(" ") : String(url ?? image ?? "(unknown)"));
    const startsProcess = command !== undefined || image !== undefined;
    return { command: shown, startsProcess, text: `${startsProcess ? "runs" : "calls"}      ${shown}` };
  }
}
