/** `toolport add`: adds a server to one of Toolport's own files, from a URL, a command, JSON or a registry. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError, resolveCommand } from "@toolport/base";
import { parseJsonConfig } from "@toolport/base/json-config";
import { saveOwnConfig } from "@toolport/config";
import { checkWritten, hasVariables, isServerEntry, readGiven, textsIn } from "@toolport/config/internal";
import { type RegistryInput, type ServerConfigResult, toServerConfig } from "@toolport/registry";
import type { InputValue, SourcePreference } from "@toolport/registry/internal";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { flag, HEADER, PROJECT, REGISTRY, REPLACE, TRANSPORT, text, texts } from "../command-options.js";
import { CliError, configurationError, EXIT, errorDocument, exitCodeOf, usageError } from "../errors.js";
import { describeEntry, ownFileFor } from "../load-servers.js";
import { indented, plainLine, plural } from "../plain-text.js";
import { shellWord } from "../shell-words.js";
import { type Addition, nameFromUrl, readEnv, readHeaders, readPairs } from "../typed-servers.js";
import { openRegistry } from "./search.js";

export const addCommand: CommandSpec = {
  name: "add",
  summary: "Add a server: a URL, a command, JSON from a README, or a registry entry",
  group: "servers",
  positionals: [
    { name: "name", summary: "Name for the server", optional: true },
    {
      name: "url",
      summary: "Its URL, or its entry as JSON (- reads stdin)",
      optional: true,
    },
  ],
  takesCommand: true,
  options: {
    "from-registry": text(
      "<namespace/name>",
      "Take the server from a registry; append @version for one version",
    ),
    input: texts("<name=value>", "A value that the registry entry requires"),
    prefer: text("<kind>", "Which remote or package to use if the registry entry has several", [
      "remote",
      "package",
      "streamable-http",
      "sse",
      "npm",
      "pypi",
      "oci",
      "nuget",
      "mcpb",
    ]),
    registry: REGISTRY,
    header: HEADER,
    env: texts("<name=value>", "Environment variable for a command"),
    cwd: text("<dir>", "Working directory of a command"),
    transport: TRANSPORT,
    project: PROJECT,
    replace: REPLACE,
    "no-check": flag("Do not connect to the new server"),
  },
  examples: [
    ["toolport add weather https://example.com/mcp", "a remote server"],
    ["toolport add files -- npx -y @modelcontextprotocol/server-filesystem .", "a local command"],
    [
      "toolport add --from-registry io.github.user/weather",
      "a server from the registry; asks for required values",
    ],
    [`toolport add time --json '{"command":"uvx","args":["mcp-server-time"]}'`, "an entry from a README"],
  ],
  load: async () => (await import("./add.js")).runAdd,
};

export const runAdd: RunCommand = async (context) => {
  const additions = await readAdditions(context);
  const file = await ownFileFor(context);
  for (const addition of additions) await agree(addition, file, context);
  await save(additions, file, context.flag("replace"));
  const names = additions.map(({ name }) => name);
  // The user typed the entry or agreed to it: ask no further question about the project file.
  await context.trustServers(names, file);
  if (context.form !== "json") context.info(`Added ${names.join(", ")} to ${file}`, "green");
  for (const note of additions.flatMap(({ notes = [] }) => notes)) context.info(note);
  const checks = context.flag("no-check") ? [] : await checkServers(names, context);
  if (context.form === "json") {
    const added = additions.map(({ name, shown }) => ({ name, command: describeEntry(shown).command }));
    context.printJson({ file, added, checks: checks.map(({ exitCode: _code, ...check }) => check) });
  } else for (const check of checks) reportCheck(check, context);
  return Math.max(EXIT.ok, ...checks.map(({ exitCode }) => exitCode));
};

async function readAdditions(context: CommandContext): Promise<Addition[]> {
  const wanted = context.text("from-registry");
  if (wanted !== undefined) return [await readFromRegistry(wanted, context)];
  const [first, second] = context.words;
  const isJson = (word: string | undefined) => word?.trimStart().startsWith("{") === true;
  if (isJson(first)) return readPasted(first!, undefined, context);
  if (isJson(second)) return readPasted(second!, first, context);
  if (first === "-" || second === "-") {
    return readPasted(await context.readAllInput(), first === "-" ? undefined : first, context);
  }
  return [readTyped(context)];
}

/** Shows an entry that the user did not write, and asks before it is added. */
async function agree(
  { name, shown, needsConsent, warnings }: Addition,
  file: string,
  context: CommandContext,
): Promise<void> {
  for (const warning of warnings) context.warn(warning);
  if (!needsConsent) return;
  context.info([`${name}:`, ...indented(describeEntry(shown).text).split("\n")]);
  if (context.agreesToAll || (await context.confirm(`Add ${name} to ${file}?`))) return;
  throw new CliError(
    context.isInteractive
      ? `${name} was not added`
      : `${name} was not added: it needs your agreement to the entry shown above`,
    "toolport add … --yes",
    { code: "NOT_AGREED" },
  );
}

async function save(additions: readonly Addition[], file: string, replace: boolean): Promise<void> {
  const add = Object.fromEntries(additions.map(({ name, entry }) => [name, entry]));
  try {
    await saveOwnConfig(file, { add, replace });
  } catch (error) {
    if (!(error instanceof ConfigError) || error.code !== "DUPLICATE_SERVER") throw error;
    const name = error.server ?? "";
    throw configurationError(
      "DUPLICATE_SERVER",
      `${file} already contains a server ${JSON.stringify(name)}. Use --replace to replace it`,
      `toolport add ${shellWord(name)} … --replace`,
    );
  }
}

function reportCheck({ name, state, tools, ms, error }: ServerCheck, context: CommandContext): void {
  if (error === undefined) {
    context.info(`${name} is ${state}, with ${plural(tools, "tool")} (${ms} ms)`, "green");
    context.info(`Next: toolport tools ${shellWord(name)}`);
    return;
  }
  const isLogin = state === "authenticating" || error.code === "AUTH_REQUIRED";
  if (isLogin) context.info(`${name} was added. It requires a login`, "yellow");
  else context.info(`${name} was added, but its state is ${state}: ${error.message}`, "red");
  context.info(
    isLogin
      ? `Next: toolport auth ${shellWord(name)} (opens the login page; --no-browser prints its URL)`
      : `Next: toolport doctor ${shellWord(name)}`,
  );
}

type ServerCheck = Awaited<ReturnType<typeof checkServers>>[number];

/** Connects the servers. The outcome of each, as `--json` prints it, and its exit code. */
async function checkServers(names: readonly string[], context: CommandContext) {
  return context.progress(`Connecting to ${names.join(", ")}`, async () => {
    const { toolport } = await context.openPort({ servers: names });
    const { servers } = await toolport.connect({ servers: names, ...context.callOptions });
    return Object.entries(servers).map(([name, { state, toolCount, ms, error }]) => ({
      name,
      state,
      tools: toolCount,
      ms: Math.round(ms),
      // The message of the command line: advice about API methods is left out.
      ...(error && { error: { code: error.code, message: errorDocument(error).message } }),
      exitCode: error === undefined ? 0 : exitCodeOf(error),
    }));
  });
}

export function readTyped(context: CommandContext): Addition {
  const { words, passthrough } = context;
  const [name, address] = words;
  if (name === undefined) throw usageError("add", "name is missing: a name for the server");
  if (passthrough.length > 0 && address !== undefined)
    throw usageError("add", `A server has a URL or a command, not both: ${address}`);
  const entry = passthrough.length > 0 ? typedCommand(context) : typedUrl(context);
  return { name, entry, shown: entry, needsConsent: false, warnings: [], notes: notesOn(entry, passthrough) };
}

/** Says what a relative path will mean. */
function notesOn(
  { args, cwd }: Readonly<Record<string, unknown>>,
  [, ...given]: readonly string[],
): string[] {
  const stored = Array.isArray(args) ? args : [];
  const changed = given.flatMap((arg, index) =>
    stored[index] === arg ? [] : [`${arg} is stored as ${String(stored[index])}`],
  );
  const isKept = given.some((arg, index) => RELATIVE.test(arg) && stored[index] === arg);
  return isKept && cwd === "." ? [...changed, "Relative paths mean the folder of the file"] : changed;
}

/** `.`, `../x` and `--root=./x`. */
const RELATIVE = /^(--?[\w-]+=)?(\.{1,2}(?:[\\/].*)?)$/;

function typedUrl(context: CommandContext): Record<string, unknown> {
  const [name = "", address] = context.words;
  if (address === undefined) {
    if (!isAddress(name)) throw usageError("add", `${name} needs a URL, or -- and a command`);
    throw new CliError(
      "name is missing: a name for the server",
      `toolport add ${nameFromUrl(name)} ${shellWord(name)}`,
    );
  }
  if (!isAddress(address)) {
    throw new CliError(
      `${JSON.stringify(address)} is not a URL. Write a command after --`,
      `toolport add ${shellWord(name)} -- ${context.words.slice(1).map(shellWord).join(" ")}`,
    );
  }
  const headers = readHeaders(context);
  const transport = context.text("transport");
  return { url: address, ...(transport && { transport }), ...(headers && { headers }) };
}

function typedCommand(context: CommandContext): Record<string, unknown> {
  const { cwd } = context;
  const [command = "", ...args] = context.passthrough;
  const env = readEnv(context);
  const folderOption = context.text("cwd");
  const isProject = context.flag("project");
  // The configuration file is in another directory, so relative paths need a working directory.
  const namesFiles = args.some((arg) => /^[^-/].*[./\\]/.test(arg) && existsSync(resolve(cwd, arg)));
  const needsFolder = namesFiles || (isProject && args.some((arg) => RELATIVE.test(arg)));
  const base = folderOption === undefined ? cwd : resolve(cwd, folderOption);
  const ownFolder = needsFolder ? (isProject ? "." : cwd) : undefined;
  const folder = folderOption === undefined ? ownFolder : base;
  // The user's file is used from any folder, so its paths are absolute.
  const stored = isProject
    ? args
    : args.map((arg) => arg.replace(RELATIVE, (_, option = "", path) => `${option}${resolve(base, path)}`));
  return {
    command: isProject ? command : resolveCommand(cwd, command),
    ...(args.length > 0 && { args: stored }),
    ...(env && { env }),
    ...(folder !== undefined && { cwd: folder }),
  };
}

/** A variable may contain the whole URL. */
const isAddress = (text: string): boolean => /^(?:https?|wss?):\/\//i.test(text) || /^\$\{[^}]+\}/.test(text);

/** Name of the text in messages. */
const PASTED = "(the given JSON)";

/**
 * Expands no variables, because the user may not have written the text.
 *
 * @param name name of a single entry; not required if the text names its servers
 */
export async function readPasted(
  text: string,
  name: string | undefined,
  context: CommandContext,
): Promise<Addition[]> {
  const { root } = parseJsonConfig(PASTED, text);
  const isEntry = isServerEntry(root);
  if (isEntry && name === undefined) {
    throw new CliError("name is missing: a name for the server", `toolport add <name> '${text}'`);
  }
  const whole = isEntry ? JSON.stringify({ mcpServers: { [name!]: root } }) : text;
  const document = parseJsonConfig(PASTED, whole);
  const { servers } = readGiven(document, context.surroundings);
  const chosen = isEntry || name === undefined ? servers : servers.filter((server) => server.name === name);
  if (chosen.length === 0) {
    const names = servers.map((server) => server.name).join(", ");
    throw configurationError(
      "NO_SERVERS",
      `There is no server${name === undefined ? "" : ` ${name}`} in the given JSON${names && `, only ${names}`}`,
      "toolport add --help",
    );
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

/** An answer may make further inputs necessary. Limit the rounds. */
const MAX_ROUNDS = 4;

/** @param wanted `namespace/name`, or with `@version` appended */
export async function readFromRegistry(wanted: string, context: CommandContext): Promise<Addition> {
  const at = wanted.lastIndexOf("@");
  const [id, version] = at > 0 ? [wanted.slice(0, at), wanted.slice(at + 1)] : [wanted, undefined];
  const registry = await openRegistry(context);
  const server = await registry.getServer(id, version, { signal: context.signal });
  const inputs: Record<string, InputValue> = {
    ...readPairs(context.texts("input"), { mark: "=", option: "--input", example: "API_KEY=…" }),
  };
  const prefer = context.text("prefer") as SourcePreference | undefined;
  const build = () => toServerConfig(server, { inputs, ...(prefer && { prefer }) });
  let result = build();
  for (let round = 0; round < MAX_ROUNDS && result.missing.length > 0 && context.isInteractive; round++) {
    for (const input of result.missing) {
      const answer = await context.ask(`${questionFor(input)}: `, { isSecret: input.isSecret });
      if (answer !== undefined && answer !== "") inputs[input.name] = answer;
    }
    result = build();
  }
  if (result.entry === undefined) throw unusable(wanted, result);
  if (result.start !== undefined) {
    const lines = indented(describeEntry(result.start).text).split("\n");
    context.info(["Start this server yourself first; Toolport does not start it:", ...lines], "yellow");
  }
  return {
    name: context.words[0] ?? result.name,
    entry: { ...result.entry },
    shown: result.entry,
    needsConsent: true,
    warnings: result.warnings,
  };
}

function questionFor({ name, description, choices, placeholder, problem }: RegistryInput): string {
  const parts = [
    description,
    choices && `one of ${choices.join(", ")}`,
    placeholder && `such as ${placeholder}`,
    problem && `it ${problem}`,
  ].filter((part) => part !== undefined);
  return plainLine(parts.length === 0 ? name : `${name} (${parts.join("; ")})`);
}

function unusable(wanted: string, { missing, reason }: ServerConfigResult): CliError {
  const needs = missing.map((input) => `\n  - ${questionFor(input)}${input.isSecret ? " [secret]" : ""}`);
  const inputs = missing.map(({ name }) => `--input ${shellWord(name)}=…`).join(" ");
  const { configuration: exitCode } = EXIT;
  if (missing.length === 0) {
    const next = `toolport search ${shellWord(wanted.split("/").at(-1) ?? wanted)}`;
    const message = `${wanted} cannot be added: ${plainLine(reason ?? "")}`;
    return new CliError(message, next, { code: "NOT_USABLE", exitCode });
  }
  const next = `toolport add --from-registry ${shellWord(wanted)} ${inputs}`;
  const message = `${wanted} requires these inputs:${needs.join("")}`;
  return new CliError(message, next, { code: "MISSING_INPUTS", exitCode });
}
