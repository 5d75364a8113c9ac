/** Servers that came with a project: nothing of theirs is started before the user has seen it and agreed. */
import { parseServerEntry } from "../config/parse-servers.js";
import type { ServerEntry } from "../config/server-entry.js";
import { describeCommand } from "../node/describe-command.js";
import { hasVariables } from "../node/expand-variables.js";
import type { LoadedConfig } from "../node/load-config.js";
import { type ConfiguredServer, TrustRecords } from "../node/trust-records.js";
import type { Store } from "../state/store.js";
import { CliError } from "./cli-error.js";
import { EXIT } from "./exit-codes.js";
import { shellWord } from "./next-command.js";
import { indented } from "./plain-text.js";
import type { Shell } from "./shell.js";

/** What a file of a project could do without being asked: start a program, or send values of this machine somewhere. */
function needsConsent({ sources }: LoadedConfig, name: string, entry: ServerEntry): boolean {
  const source = sources[name];
  if (source === undefined || source.scope === "user") return false;
  return describeCommand(entry).startsProcess || hasVariables(JSON.stringify(source.written));
}

/**
 * Asks about each of the named servers that needs it, once; the answer is kept with a hash of what was shown. Returns an
 * error for each that must stay down.
 */
export async function agreeToServers(
  shell: Shell,
  { config, names, store }: { config: LoadedConfig; names: readonly string[]; store: Store },
): Promise<Record<string, CliError>> {
  const trust = new TrustRecords(store);
  const untrusted: Record<string, CliError> = {};
  for (const name of names) {
    const entry = config.mcpServers[name];
    if (entry === undefined || !parseServerEntry(name, entry).enabled) continue;
    if (!needsConsent(config, name, entry)) continue;
    const { file, line } = config.sources[name]!;
    const server: ConfiguredServer = { name, entry, file };
    const known = await trust.check(server);
    if (known === "trusted") continue;
    const isChanged = known === "changed";
    const changed = isChanged ? ", and has changed since you agreed to it" : "";
    if (shell.isInteractive || !shell.isQuiet) {
      shell.tell(`The server ${JSON.stringify(name)} comes from ${file}:${line}${changed}:`, "yellow");
      shell.tell(indented(describeCommand(entry).text).split("\n"));
    }
    if (await shell.confirm(`Allow ${JSON.stringify(name)}?`)) await trust.trust(server);
    else untrusted[name] = refusal(name, { file, line, isChanged });
  }
  return untrusted;
}

function refusal(
  name: string,
  { file, line, isChanged }: { file: string; line: number; isChanged: boolean },
): CliError {
  const why = isChanged ? "it has changed since you agreed to it" : "you have not agreed to it";
  return new CliError({
    code: "NOT_TRUSTED",
    message: `The server ${JSON.stringify(name)} of ${file}:${line} is not used: ${why}`,
    next: `toolport list ${shellWord(name)} --yes`,
    exitCode: EXIT.configuration,
    server: name,
  });
}
