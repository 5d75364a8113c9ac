/** Our own files: which one a command writes to, and which of them has a server. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isRecord } from "../../config/entry-reader.js";
import { readDocument, valueAt } from "../../node/config-document.js";
import { ownConfigFile } from "../../node/config-locations.js";
import { findConfigs } from "../../node/find-configs.js";
import { flagOption, type Invocation, textsOption } from "../command.js";
import type { Shell } from "../shell.js";

type Place = Pick<Shell, "cwd" | "env">;

/** Where the search for files begins, as this command sees it. */
export const surroundingsFor = ({ cwd, env }: Place) => ({ cwd, env });

/** The file that a new server goes to: the one that was named, the project's, or the user's. */
export async function ownFileFor(invocation: Invocation, shell: Place): Promise<string> {
  const [named] = textsOption(invocation, "config");
  if (named !== undefined) return asFile(resolve(shell.cwd, named));
  if (flagOption(invocation, "project")) return join(shell.cwd, "toolport.json");
  return ownConfigFile(surroundingsFor(shell));
}

/** Every file of ours that this command may change, the one whose servers win first. */
async function ownFiles(invocation: Invocation, shell: Place): Promise<string[]> {
  const named = textsOption(invocation, "config");
  if (named.length > 0) return Promise.all(named.map((path) => asFile(resolve(shell.cwd, path))));
  const scope = flagOption(invocation, "project") ? "project" : "all";
  const found = await findConfigs({ ...surroundingsFor(shell), dialects: ["toolport"], scope });
  return found.map(({ file }) => file);
}

/** The file of ours that has a server, good or bad. */
export async function findOwnFile(
  name: string,
  invocation: Invocation,
  shell: Place,
): Promise<string | undefined> {
  for (const file of await ownFiles(invocation, shell)) {
    if ((await serversIn(file)).includes(name)) return file;
  }
  return undefined;
}

/** Names of the servers of a file of ours; none if it cannot be read. */
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
