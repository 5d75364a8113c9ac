/** Makes a port from the user's files, saved state and consent. */
import { isRecord } from "../config/entry-reader.js";
import { ConfigError, type ConfigIssue } from "../errors/config-error.js";
import { hasVariables } from "../node/expand-variables.js";
import type { LoadedConfig } from "../node/load-config.js";
import { textsIn } from "../node/project-files.js";
import type { ToolportOptions } from "../port/options.js";
import type { Store } from "../state/store.js";
import { createToolport } from "../toolport.js";
import { suggest } from "../util/suggest.js";
import { CliError } from "./cli-error.js";
import { EXIT } from "./exit-codes.js";
import type { OpenedPort, OpenPortOptions, Shell, WrittenServers } from "./shell.js";

/** Where a port keeps the servers that programs added at run time. */
const SAVED_PREFIX = "servers//";
const DEFAULT_MAX_TIMEOUT_MS = 300_000;

/** @throws ConfigError or CliError if a server that was asked for is not there, or there is none at all */
export async function openPort(shell: Shell, wanted: OpenPortOptions = {}): Promise<OpenedPort> {
  const { store, statePath } = await shell.openStore();
  const written = await shell.readServers();
  const configured = [...written.servers.keys()];
  const saved = await savedNames(store);
  const all = [...new Set([...configured, ...saved])];
  if (all.length === 0) {
    warnOfIssues(shell, written);
    throw nothingConfigured(written);
  }
  const asked = typeof wanted.servers === "function" ? wanted.servers(all) : wanted.servers;
  for (const name of asked ?? []) if (!all.includes(name)) throw unknownServer(name, all, written);
  const names = asked === undefined ? configured : withFallbacks(asked, written);
  const { config, sources, leftOut, refusal } = await shell.loadServers(names);
  for (const { file, line, path, message } of config.warnings)
    if (shell.isVerbose) shell.warn(`${file}:${line}: ${path}: ${message}`);
  warnOfIssues(shell, config);
  if (refusal !== undefined && !shell.isInteractive && wanted.onRefused !== "leaveOut") throw refusal;
  const { mcpServers } = config;
  const isThere = (name: string) => Object.hasOwn(mcpServers, name) || leftOut.has(name);
  // Some problems show only when a server is expanded.
  for (const name of asked ?? [])
    if (!isThere(name) && !saved.includes(name)) throw unknownServer(name, all, config);
  if (saved.length === 0 && !names.some(isThere)) throw nothingConfigured(config);
  const toolport = createToolport({
    ...timeouts(shell),
    // Saved servers come in only if they are meant: a port brings up all it knows.
    restore: asked === undefined || asked.some((name) => !configured.includes(name)) ? "lazy" : false,
    ...wanted.options,
    store,
    mcpServers: Object.fromEntries(
      Object.entries(mcpServers).map(([name, entry]) => [name, wanted.changeEntry?.(entry, name) ?? entry]),
    ),
  });
  const stopWarnings = toolport.on("warning", ({ server, message, code }) => {
    // A banner on stdout harms nothing, and would be reported at every command: `doctor` reports it.
    if (code === "BAD_RESPONSE" && !shell.isVerbose) return;
    shell.warn(`${server === undefined ? "" : `${server}: `}${message}`);
  });
  shell.onExit(() => {
    // Warnings after this point come from our own close.
    stopWarnings();
    return toolport.close();
  });
  return { toolport, config, sources, leftOut, refusal, statePath, store };
}

function warnOfIssues(shell: Shell, { issues }: Pick<LoadedConfig, "issues"> | WrittenServers): void {
  for (const { file, line, path, message } of issues)
    shell.warn(`${file}${line === undefined ? "" : `:${line}`}: ${path === "" ? "" : `${path}: `}${message}`);
}

async function savedNames(store: Store): Promise<string[]> {
  const keys = await store.list(SAVED_PREFIX);
  return keys.map((key) => decodeURIComponent(key.slice(SAVED_PREFIX.length)));
}

function timeouts({
  timeoutMs,
}: Shell): Pick<ToolportOptions, "timeoutMs" | "connectTimeoutMs" | "maxTimeoutMs"> {
  if (timeoutMs === undefined) return {};
  return {
    timeoutMs,
    connectTimeoutMs: timeoutMs,
    maxTimeoutMs: Math.max(timeoutMs, DEFAULT_MAX_TIMEOUT_MS),
  };
}

/** Those asked for, and the servers they fall back to. */
function withFallbacks(asked: readonly string[], { servers }: WrittenServers): string[] {
  const found = new Set<string>();
  const open = [...asked];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const { fallback } = servers.get(name)?.translated.entry ?? {};
    const names = textsIn(isRecord(fallback) ? fallback["servers"] : fallback);
    // A variable may stand for any of them.
    open.push(...(names.some(hasVariables) ? servers.keys() : names));
  }
  return [...found];
}

function nothingConfigured({ issues }: { issues: readonly ConfigIssue[] }): Error {
  if (issues.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues });
  return new CliError({
    code: "NO_SERVERS",
    message: "There is no file with servers for this project or this user",
    next: "toolport add <name> <url>",
    exitCode: EXIT.configuration,
  });
}

/** A server that is not there, or one whose entry is wrong. */
export function unknownServer(
  name: string,
  names: readonly string[],
  { issues }: { issues: readonly ConfigIssue[] },
): Error {
  const own = issues.filter(({ path }) => path.includes(name));
  if (own.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues: own, server: name });
  const [close] = suggest(name, names, 1);
  return new CliError({
    code: "UNKNOWN_SERVER",
    message: `There is no server ${JSON.stringify(name)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    next: close === undefined ? "toolport list" : `toolport list ${close}`,
    exitCode: EXIT.configuration,
    server: name,
  });
}
