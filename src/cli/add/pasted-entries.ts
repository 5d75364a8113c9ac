/** Reads pasted JSON, as found in READMEs: one entry or a whole file, in any dialect. */
import { isRecord } from "../../config/entry-reader.js";
import { parseJsonConfig } from "../../config/parse-json-config.js";
import { surroundingsOf } from "../../node/config-locations.js";
import { detectDialect } from "../../node/detect-dialect.js";
import { checkWritten } from "../../node/expand-server.js";
import { hasVariables } from "../../node/expand-variables.js";
import { textsIn } from "../../node/project-files.js";
import { readServers } from "../../node/read-servers.js";
import { CliError } from "../cli-error.js";
import type { CommandContext } from "../command-context.js";
import { describeEntry } from "../config/describe-entry.js";
import { surroundingsFor } from "../config/own-files.js";
import { EXIT } from "../exit-codes.js";
import type { Addition } from "./addition.js";

/** Name of the text in messages. */
const PASTED = "(the given JSON)";
const SERVER_FIELDS = ["command", "url", "image", "httpUrl", "serverUrl", "baseUrl", "base_url", "sseUrl"];

/**
 * Expands no variables, because the user may not have written the text.
 *
 * @param name name of a single entry; not required if the text names its servers
 */
export async function readPasted(
  text: string,
  name: string | undefined,
  context: Pick<CommandContext, "cwd" | "env">,
): Promise<Addition[]> {
  const { root } = parseJsonConfig(PASTED, text);
  const isEntry = isRecord(root) && SERVER_FIELDS.some((field) => Object.hasOwn(root, field));
  if (isEntry && name === undefined) {
    throw new CliError({
      message: "name is missing: a name for the server",
      next: `toolport add <name> '${text}'`,
    });
  }
  const whole = isEntry ? JSON.stringify({ mcpServers: { [name!]: root } }) : text;
  const document = parseJsonConfig(PASTED, whole);
  const surroundings = surroundingsOf(surroundingsFor(context));
  const { servers } = readServers(document, detectDialect(document), {
    place: { kind: undefined, scope: "user", baseDir: context.cwd, projectDir: context.cwd },
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
