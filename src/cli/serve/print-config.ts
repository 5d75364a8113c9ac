/** `toolport serve --print-config <client>`: the entry with which a client uses this gateway. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { VERSION } from "../../util/version.js";
import { CliError } from "../cli-error.js";
import { flagOption, type Invocation, textOption, textsOption } from "../command.js";
import type { CommandContext } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { CLIENT_FORMATS, type ClientTarget } from "./config-clients.js";
import { reachableHost, type ServeSettings } from "./read-serve-settings.js";
import type { ConfigClient } from "./serve-option-table.js";

/** The name of the gateway in the client. */
const SERVER_NAME = "toolport";
const STORE_VARIABLE = "TOOLPORT_STORE";
/** The variable with the token of a gateway over HTTP. */
export const TOKEN_VARIABLE = "TOOLPORT_SERVE_TOKEN";

/** @param tokenFile where the token of this gateway is; undefined if it needs none */
export async function printConfig(
  client: ConfigClient,
  invocation: Invocation,
  { settings, context, tokenFile }: PrintParts,
): Promise<number> {
  const format = CLIENT_FORMATS[client];
  const target = targetOf(invocation, settings, context, tokenFile !== undefined);
  if (target.kind === "http" && !format.hasHttp)
    throw new CliError({
      code: "NOT_SUPPORTED",
      exitCode: EXIT.configuration,
      message: `The file of ${format.title} cannot name a server over HTTP. Add the URL as a connector in its settings (that needs --issuer), or let it start a gateway`,
      next: `toolport serve --print-config ${client}`,
    });
  if (target.kind === "stdio" && target.variables.length > 0 && !format.hasReferences)
    throw new CliError({
      code: "NOT_SUPPORTED",
      exitCode: EXIT.configuration,
      message: `The file of ${format.title} cannot refer to variables, so it would contain the password of the store. Use a URL without a password, or no --store`,
      next: `toolport serve --print-config ${client}`,
    });
  const text = await format.write(SERVER_NAME, target);
  const variables = target.kind === "stdio" ? target.variables : [target.tokenVariable].filter(Boolean);
  if (context.form === "json") {
    context.printJson({ client, file: format.file, text, variables });
    return EXIT.ok;
  }
  context.print(text);
  context.info(`For ${format.title}: ${format.file}`, "dim");
  if (target.kind === "http" && target.tokenVariable !== undefined)
    context.info(
      client === "vscode"
        ? `VS Code asks for the token, which is in ${tokenFile}`
        : `Set ${TOKEN_VARIABLE} for ${format.title} to the token in ${tokenFile}`,
      "dim",
    );
  else if (variables.length > 0)
    context.info(`Set ${variables.join(", ")} for ${format.title}; the file only refers to it`, "dim");
  return EXIT.ok;
}

interface PrintParts {
  readonly settings: ServeSettings;
  readonly context: CommandContext;
  readonly tokenFile: string | undefined;
}

function targetOf(
  invocation: Invocation,
  settings: ServeSettings,
  context: CommandContext,
  needsToken: boolean,
): ClientTarget {
  const { http, url } = settings;
  if (http === undefined && url === undefined) return programTarget(invocation, settings, context);
  if (url === undefined && http?.port === 0)
    throw new CliError({
      message: "A client needs a fixed port: give one with --http, or the address with --url",
      next: "toolport serve --http 8080 --print-config cursor",
    });
  const address = url ?? `http://${reachableHost(http!.host)}:${http!.port}${settings.path}`;
  return { kind: "http", url: address, tokenVariable: needsToken ? TOKEN_VARIABLE : undefined };
}

/** The command line of this program, with the options that were given. Paths become absolute. */
function programTarget(
  invocation: Invocation,
  settings: ServeSettings,
  { cwd, env }: CommandContext,
): ClientTarget {
  const { command, args } = ownCommand(env);
  const { store } = settings;
  const isSecret = store !== undefined && hasPassword(store);
  const option = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
  const state = textOption(invocation, "state");
  const words = [
    ...textsOption(invocation, "config").flatMap((path) => ["--config", resolve(cwd, path)]),
    ...option("--state", state === undefined ? undefined : resolve(cwd, state)),
    ...(flagOption(invocation, "no-state") ? ["--no-state"] : []),
    ...option("--servers", settings.servers?.join(",")),
    ...option("--store", isSecret ? undefined : store),
    ...(settings.noPrefix ? ["--no-prefix"] : []),
    ...(settings.readOnly ? ["--read-only"] : []),
    ...(settings.code ? ["--code"] : []),
    ...option("--policy", settings.policy),
    ...option("--audit", settings.audit),
    ...(flagOption(invocation, "yes") ? ["--yes"] : []),
  ];
  return {
    kind: "stdio",
    command,
    args: [...args, "serve", ...words],
    variables: isSecret ? [STORE_VARIABLE] : [],
  };
}

/** Absolute paths, because programs with windows have another PATH than a shell. The cache of npx is no place to rely on. */
function ownCommand(env: CommandContext["env"]): { command: string; args: string[] } {
  const main = process.argv[1];
  const file = main === undefined ? undefined : realpathSync(main);
  if (file === undefined || /[\\/]_npx[\\/]/.test(file) || env["npm_command"] === "exec")
    return { command: "npx", args: ["-y", `toolport@${VERSION}`] };
  return { command: process.execPath, args: [file] };
}

function hasPassword(store: string): boolean {
  try {
    const { password, searchParams } = new URL(store);
    return password !== "" || searchParams.has("password");
  } catch {
    return true;
  }
}
