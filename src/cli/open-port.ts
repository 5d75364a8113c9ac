/** Creates a port from the user's files, saved state and consent. */
import { isRecord } from "../config/entry-reader.js";
import { createToolport } from "../create-toolport.js";
import { ConfigError, type ConfigIssue } from "../errors/config-error.js";
import { hasVariables } from "../node/expand-variables.js";
import type { LoadedConfig } from "../node/load-config.js";
import { textsIn } from "../node/project-files.js";
import type { ToolportOptions } from "../port/options.js";
import type { Store } from "../state/store.js";
import { suggest } from "../util/suggest.js";
import type { CommandContext, OpenedPort, OpenPortOptions, WrittenServers } from "./command.js";
import { CliError, EXIT } from "./errors.js";
import { elicitOnTerminal } from "./questions.js";

/** Key prefix of servers that programs added at run time. */
const SAVED_PREFIX = "servers//";
const DEFAULT_MAX_TIMEOUT_MS = 300_000;

/** @throws ConfigError or CliError if a requested server does not exist, or no server exists */
export async function openPort(context: CommandContext, wanted: OpenPortOptions = {}): Promise<OpenedPort> {
  const { store, statePath } = await context.openStore();
  const written = await context.readServers();
  const configured = [...written.servers.keys()];
  const saved = await savedNames(store);
  const all = [...new Set([...configured, ...saved])];
  if (all.length === 0 && !(wanted.mayBeEmpty && written.issues.length === 0)) {
    warnOfIssues(context, written);
    throw nothingConfigured(written);
  }
  const chosen = typeof wanted.servers === "function" ? wanted.servers(all) : wanted.servers;
  const asked = chosen?.length === 0 ? undefined : chosen;
  for (const name of asked ?? []) if (!all.includes(name)) throw unknownServer(name, all, written);
  const names = asked === undefined ? configured : withFallbacks(asked, written);
  const { config, sources, leftOut, consentError } = await context.loadServers(names);
  for (const { file, line, path, message } of config.warnings)
    if (context.isVerbose) context.warn(`${file}:${line}: ${path}: ${message}`);
  warnOfIssues(context, config);
  if (consentError !== undefined && !context.isInteractive && wanted.onMissingConsent !== "leaveOut")
    throw consentError;
  const { mcpServers } = config;
  const isThere = (name: string) => Object.hasOwn(mcpServers, name) || leftOut.has(name);
  // Some issues appear only when a server is expanded.
  for (const name of asked ?? [])
    if (!isThere(name) && !saved.includes(name)) throw unknownServer(name, all, config);
  if (saved.length === 0 && names.length > 0 && !names.some(isThere)) throw nothingConfigured(config);
  // A port connects every server it knows: restore saved servers only if they are requested.
  const isRestored = asked === undefined || asked.some((name) => !configured.includes(name));
  const plain = createToolport({
    ...timeouts(context),
    restore: isRestored ? "lazy" : false,
    // Servers may offer tools only to clients that can answer questions: `tools` lists what `call` can call.
    ...(wanted.asksOnTerminal !== false && elicitOnTerminal(context)),
    ...wanted.options,
    store,
    mcpServers: Object.fromEntries(
      Object.entries(mcpServers).map(([name, entry]) => [name, wanted.changeEntry?.(entry, name) ?? entry]),
    ),
  });
  const toolport = wanted.principal === undefined ? plain : plain.as(wanted.principal);
  const stopWarnings = plain.on("warning", ({ server, message, code }) => {
    // Text on stdout is harmless and would be reported with every command. `doctor` reports it instead.
    if (code === "BAD_RESPONSE" && !context.isVerbose) return;
    context.warn(`${server === undefined ? "" : `${server}: `}${message}`);
  });
  context.onExit(() => {
    // Warnings after this point come from our own `close()`.
    stopWarnings();
    return plain.close();
  });
  const restored = isRestored ? saved.filter((name) => !configured.includes(name)) : [];
  return { toolport, config, sources, leftOut, consentError, saved: restored, statePath, store };
}

function warnOfIssues(
  context: CommandContext,
  { issues }: Pick<LoadedConfig, "issues"> | WrittenServers,
): void {
  for (const { file, line, path, message } of issues)
    context.warn(
      `${file}${line === undefined ? "" : `:${line}`}: ${path === "" ? "" : `${path}: `}${message}`,
    );
}

async function savedNames(store: Store): Promise<string[]> {
  const keys = await store.list(SAVED_PREFIX);
  return keys.map((key) => decodeURIComponent(key.slice(SAVED_PREFIX.length)));
}

function timeouts({
  timeoutMs,
}: CommandContext): Pick<ToolportOptions, "timeoutMs" | "connectTimeoutMs" | "maxTimeoutMs"> {
  if (timeoutMs === undefined) return {};
  return {
    timeoutMs,
    connectTimeoutMs: timeoutMs,
    maxTimeoutMs: Math.max(timeoutMs, DEFAULT_MAX_TIMEOUT_MS),
  };
}

/** The requested servers and their fallbacks. */
function withFallbacks(asked: readonly string[], { servers }: WrittenServers): string[] {
  const found = new Set<string>();
  const open = [...asked];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const { fallback } = servers.get(name)?.translated.entry ?? {};
    const names = textsIn(isRecord(fallback) ? fallback["servers"] : fallback);
    // The value of a variable is unknown here: include all servers.
    open.push(...(names.some(hasVariables) ? servers.keys() : names));
  }
  return [...found];
}

function nothingConfigured({ issues }: { issues: readonly ConfigIssue[] }): Error {
  if (issues.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues });
  return new CliError(
    "No configuration file with servers was found for this project or user",
    "toolport add <name> <url>",
    { code: "NO_SERVERS", exitCode: EXIT.configuration },
  );
}

/** The error for an unknown server, or for one with an invalid entry. */
export function unknownServer(
  name: string,
  names: readonly string[],
  { issues }: { issues: readonly ConfigIssue[] },
): Error {
  const own = issues.filter(({ path }) => path.includes(name));
  if (own.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues: own, server: name });
  const [close] = suggest(name, names, 1);
  return new CliError(
    `There is no server ${JSON.stringify(name)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    close === undefined ? "toolport list" : `toolport list ${close}`,
    { code: "UNKNOWN_SERVER", exitCode: EXIT.configuration, server: name },
  );
}
