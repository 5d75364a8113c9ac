/** `toolport serve --print-config <client>`: the entry with which a client uses this gateway. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { VERSION } from "@toolport/base";
import { KEY_VARIABLE } from "@toolport/stores";
import type { CommandContext } from "../command.js";
import { CliError, EXIT } from "../errors.js";
import { STATE_OFF, STATE_VARIABLE } from "../open-store.js";
import { type ConfigClient, reachableHost, type ServeSettings } from "./serve-settings.js";

/** The name of the gateway in the client. */
const SERVER_NAME = "toolport";
const STORE_VARIABLE = "TOOLPORT_STORE";
/** The variable with the token of a gateway over HTTP. */
export const TOKEN_VARIABLE = "TOOLPORT_SERVE_TOKEN";

/** @param tokenFile where the token of a gateway over HTTP is; undefined if it needs none, or has it from its environment */
export async function printConfig(
  client: ConfigClient,
  settings: ServeSettings,
  context: CommandContext,
  tokenFile: string | undefined,
): Promise<undefined> {
  const format = CLIENT_FORMATS[client];
  const target = targetOf(settings, context);
  if (format.refer === undefined && (target.kind === "http" || target.variables.length > 0)) {
    const why =
      target.kind === "http"
        ? "name a server over HTTP. Add the URL as a connector in its settings (that needs --issuer), or let it start a gateway"
        : `refer to variables, so it would contain the secret in ${target.variables.join(" and ")}. Use state that needs none`;
    const next = `toolport serve --print-config ${client}`;
    const details = { code: "NOT_SUPPORTED", exitCode: EXIT.configuration };
    throw new CliError(`The file of ${format.title} cannot ${why}`, next, details);
  }
  const text = await writeConfig(format, target);
  const { variables } = target;
  if (context.form === "json") return context.printJson({ client, file: format.file, text, variables });
  context.print(text);
  context.info(`For ${format.title}: ${format.file}`, "dim");
  if (variables.length === 0) return;
  const set = `Set ${variables.join(", ")} for ${format.title}`;
  const place = tokenFile ?? `${TOKEN_VARIABLE} of the gateway`;
  if (target.kind === "stdio") context.info(`${set}; the file only refers to it`, "dim");
  else if (client === "vscode") context.info(`VS Code asks for the token, which is in ${place}`, "dim");
  else context.info(`${set} to the token in ${place}`, "dim");
}

function targetOf(settings: ServeSettings, context: CommandContext): ClientTarget {
  const { http, url, issuer, noToken } = settings;
  if (http === undefined && url === undefined) return programTarget(settings, context);
  if (url === undefined && http?.port === 0)
    throw new CliError(
      "A client needs a fixed port: give one with --http, or the address with --url",
      "toolport serve --http 8080 --print-config cursor",
    );
  const address = url ?? `http://${reachableHost(http!.host)}:${http!.port}${settings.path}`;
  const needsToken = issuer === undefined && !noToken;
  return { kind: "http", entry: { url: address }, variables: needsToken ? [TOKEN_VARIABLE] : [] };
}

/** The command line of this program, with the options that were given. Paths become absolute. */
function programTarget(settings: ServeSettings, context: CommandContext): ClientTarget {
  const { cwd, env } = context;
  const { command, args } = ownCommand(env);
  const { store, drainMs } = settings;
  const isSecret = store !== undefined && hasPassword(store);
  const option = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
  const flag = (name: string) => (context.flag(name) ? [`--${name}`] : []);
  const words = [
    ...context.texts("config").flatMap((path) => ["--config", resolve(cwd, path)]),
    ...stateWords(context),
    ...option("--timeout", context.text("timeout")),
    ...option("--servers", settings.servers?.join(",")),
    ...option("--store", isSecret ? undefined : store),
    ...["no-prefix", "read-only", "code"].flatMap(flag),
    ...option("--policy", settings.policy),
    ...option("--audit", settings.audit),
    ...option("--drain-ms", drainMs?.toString()),
    ...["yes", "quiet", "verbose"].flatMap(flag),
  ];
  return {
    kind: "stdio",
    entry: { command, args: [...args, "serve", ...words] },
    variables: [...(isSecret ? [STORE_VARIABLE] : []), ...(env[KEY_VARIABLE] ? [KEY_VARIABLE] : [])],
  };
}

/** The state of this shell. A client does not have its variables, and would use other state. */
function stateWords(context: CommandContext): string[] {
  const { cwd, env } = context;
  if (context.flag("no-state")) return ["--no-state"];
  const path = context.text("state");
  if (path !== undefined) return ["--state", resolve(cwd, path)];
  const variable = env[STATE_VARIABLE];
  if (variable === STATE_OFF) return ["--no-state"];
  return variable ? ["--state", resolve(cwd, variable)] : [];
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

/** What a client has to start or connect to. */
export interface ClientTarget {
  readonly kind: "stdio" | "http";
  readonly entry: Readonly<Record<string, unknown>>;
  /** Names of variables whose values the file must not contain: of the process, or with the token of the header. */
  readonly variables: readonly string[];
}

interface ClientFormat {
  /** Name in messages. */
  readonly title: string;
  /** Where the text belongs. */
  readonly file: string;
  /**
   * How the file refers to a variable, so that secrets stay out of it. Undefined: it cannot, and it cannot name an HTTP server
   * either.
   */
  readonly refer?: (variable: string) => string;
  /** Its entries name their transport. */
  readonly hasType?: boolean;
  /** The whole file with one entry. @default JSON with `mcpServers` */
  write?(target: ClientTarget, entry: Readonly<Record<string, unknown>>): Promise<unknown>;
}

async function writeConfig(format: ClientFormat, target: ClientTarget): Promise<string> {
  const { refer = String, hasType, write } = format;
  const entry = { ...(hasType && { type: target.kind }), ...usualEntry(target, refer) };
  const content = (await write?.(target, entry)) ?? { mcpServers: { [SERVER_NAME]: entry } };
  return typeof content === "string" ? content : JSON.stringify(content, undefined, 2);
}

/** The entry, with the client's syntax of a reference to a variable. */
function usualEntry({ kind, entry, variables }: ClientTarget, refer: (variable: string) => string) {
  const references = Object.fromEntries(variables.map((name) => [name, refer(name)]));
  const [token] = Object.values(references);
  if (token === undefined) return entry;
  return {
    ...entry,
    ...(kind === "stdio" ? { env: references } : { headers: { Authorization: `Bearer ${token}` } }),
  };
}

const inputId = (variable: string): string => variable.toLowerCase().replaceAll("_", "-");

const CLIENT_FORMATS: Readonly<Record<ConfigClient, ClientFormat>> = {
  "claude-desktop": {
    title: "Claude Desktop",
    file: "claude_desktop_config.json (Settings → Developer → Edit Config)",
  },
  "claude-code": {
    title: "Claude Code",
    file: ".mcp.json of a project",
    refer: (variable) => `\${${variable}}`,
    hasType: true,
  },
  cursor: {
    title: "Cursor",
    file: "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    refer: (variable) => `\${env:${variable}}`,
  },
  vscode: {
    title: "VS Code",
    file: ".vscode/mcp.json of a project, or the user's mcp.json (command MCP: Open User Configuration)",
    refer: (variable) => `\${input:${inputId(variable)}}`,
    hasType: true,
    async write({ variables }, entry) {
      const inputs = variables.map((variable) => ({
        type: "promptString",
        id: inputId(variable),
        description: variable,
        password: true,
      }));
      return { ...(inputs.length > 0 && { inputs }), servers: { [SERVER_NAME]: entry } };
    },
  },
  codex: {
    title: "Codex",
    file: "~/.codex/config.toml",
    refer: (variable) => variable,
    async write({ kind, entry, variables }) {
      const { stringify } = await import("smol-toml");
      const names = kind === "stdio" ? { env_vars: variables } : { bearer_token_env_var: variables[0] };
      const own = { ...entry, ...(variables.length > 0 && names) };
      return stringify({ mcp_servers: { [SERVER_NAME]: own } }).trimEnd();
    },
  },
};
