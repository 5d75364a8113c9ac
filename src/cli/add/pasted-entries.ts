/** Servers as READMEs show them: JSON of any dialect, one entry or a whole file. */
import { isRecord } from "../../config/entry-reader.js";
import { surroundingsOf } from "../../node/config-locations.js";
import { detectDialect } from "../../node/detect-dialect.js";
import { parseJsonConfig } from "../../node/parse-json-config.js";
import { readServers } from "../../node/read-servers.js";
import { CliError } from "../cli-error.js";
import { surroundingsFor } from "../config/own-files.js";
import { describeEntry } from "../config/shown-entry.js";
import { EXIT } from "../exit-codes.js";
import type { Shell } from "../shell.js";
import type { Addition } from "./addition.js";

/** What the text is called in messages. */
const PASTED = "(the given JSON)";
const SERVER_FIELDS = ["command", "url", "image", "httpUrl", "serverUrl", "baseUrl", "base_url", "sseUrl"];

/** @param name what a single entry is to be called; not needed if the text names its servers */
export async function readPasted(
  text: string,
  name: string | undefined,
  shell: Pick<Shell, "cwd" | "env">,
): Promise<Addition[]> {
  const { root } = parseJsonConfig(PASTED, text);
  const isEntry = isRecord(root) && SERVER_FIELDS.some((field) => Object.hasOwn(root, field));
  if (isEntry && name === undefined) {
    throw new CliError({
      message: "name is missing: what the server is to be called",
      next: `toolport add <name> '${text}'`,
    });
  }
  const whole = isEntry ? JSON.stringify({ mcpServers: { [name!]: root } }) : text;
  const document = parseJsonConfig(PASTED, whole);
  const surroundings = surroundingsOf(surroundingsFor(shell));
  const { servers, issues, warnings } = await readServers(document, detectDialect(document), {
    place: { kind: undefined, scope: "user", baseDir: shell.cwd, projectDir: shell.cwd },
    surroundings,
    inputs: undefined,
    extraKeys: undefined,
    named: true,
  });
  const chosen = isEntry || name === undefined ? servers : servers.filter((server) => server.name === name);
  if (chosen.length === 0) {
    const names = servers.map((server) => server.name).join(", ");
    throw new CliError({
      code: "NO_SERVERS",
      exitCode: EXIT.configuration,
      message: `There is no server${name === undefined ? "" : ` ${name}`} in the given JSON${names && `, only ${names}`}`,
      next: "toolport add --help",
    });
  }
  return chosen.map((server) => {
    const shown = server.good?.entry ?? server.source.written;
    const about = [...issues, ...warnings].filter(({ path }) => path.split(".").includes(server.name));
    return {
      name: server.name,
      entry: server.source.written,
      shown,
      needsConsent: describeEntry(shown).startsProcess,
      warnings: about.map(({ path, message }) => `${path} ${message}`),
    };
  });
}
