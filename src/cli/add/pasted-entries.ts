/** Servers as READMEs show them: JSON of any dialect, one entry or a whole file. */
import { isRecord } from "../../config/entry-reader.js";
import { surroundingsOf } from "../../node/config-locations.js";
import { detectDialect } from "../../node/detect-dialect.js";
import { checkWritten } from "../../node/expand-server.js";
import { hasVariables } from "../../node/expand-variables.js";
import { parseJsonConfig } from "../../node/parse-json-config.js";
import { textsIn } from "../../node/project-files.js";
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

/**
 * Nothing of the text is expanded: its author is not its user.
 *
 * @param name what a single entry is to be called; not needed if the text names its servers
 */
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
  const { servers } = readServers(document, detectDialect(document), {
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
    const { written } = server.source;
    const { issues, warnings } = checkWritten(server);
    return {
      name: server.name,
      entry: written,
      shown: written,
      needsConsent: describeEntry(written).startsProcess || textsIn(written).some(hasVariables),
      warnings: [...issues, ...warnings].map(({ path, message }) => `${path} ${message}`),
    };
  });
}
