/** Makes a port from the user's files, saved state and consent. */
import type { FallbackOption, ServerEntry } from "../config/server-entry.js";
import { ConfigError } from "../errors/config-error.js";
import type { LoadedConfig } from "../node/load-config.js";
import type { ToolportOptions } from "../port/options.js";
import type { Store } from "../state/store.js";
import { createToolport } from "../toolport.js";
import { suggest } from "../util/suggest.js";
import { agreeToServers } from "./agree-to-servers.js";
import { CliError } from "./cli-error.js";
import { EXIT } from "./exit-codes.js";
import type { OpenedPort, OpenPortOptions, Shell } from "./shell.js";

/** Where a port keeps the servers that programs added at run time. */
const SAVED_PREFIX = "servers//";
const DEFAULT_MAX_TIMEOUT_MS = 300_000;

/** @throws ConfigError or CliError if a server that was asked for is not there, or there is none at all */
export async function openPort(shell: Shell, wanted: OpenPortOptions = {}): Promise<OpenedPort> {
  const { store, statePath } = await shell.openStore();
  const config = await shell.loadServers();
  for (const { file, line, path, message } of config.warnings)
    if (shell.isVerbose) shell.warn(`${file}:${line}: ${path}: ${message}`);
  for (const { file, line, path, message } of config.issues)
    shell.warn(`${file}${line === undefined ? "" : `:${line}`}: ${path === "" ? "" : `${path}: `}${message}`);
  const configured = Object.keys(config.mcpServers);
  const saved = await savedNames(store);
  const all = [...new Set([...configured, ...saved])];
  if (all.length === 0) throw nothingConfigured(config);
  const asked = typeof wanted.servers === "function" ? wanted.servers(all) : wanted.servers;
  for (const name of asked ?? []) if (!all.includes(name)) throw unknownServer(name, all, config);
  const names = asked === undefined ? configured : withFallbacks(asked, config);
  const untrusted = await agreeToServers(shell, { config, names, store });
  const toolport = createToolport({
    ...timeouts(shell),
    // Saved servers come in only if they are meant: a port brings up all it knows.
    restore: asked === undefined || asked.some((name) => !configured.includes(name)) ? "lazy" : false,
    ...wanted.options,
    store,
    mcpServers: Object.fromEntries(
      names
        .filter((name) => config.mcpServers[name] !== undefined)
        .map((name) => [name, entryOf(name, { config, wanted, isTrusted: untrusted[name] === undefined })]),
    ),
  });
  const stopWarnings = toolport.on("warning", ({ server, message }) =>
    shell.warn(`${server === undefined ? "" : `${server}: `}${message}`),
  );
  shell.onExit(() => {
    // What does not come to its end because of the end is no news.
    stopWarnings();
    return toolport.close();
  });
  return { toolport, config, sources: config.sources, untrusted, statePath, store };
}

function entryOf(
  name: string,
  { config, wanted, isTrusted }: { config: LoadedConfig; wanted: OpenPortOptions; isTrusted: boolean },
): ServerEntry {
  const entry = config.mcpServers[name]!;
  const changed = wanted.changeEntry?.(entry, name) ?? entry;
  return isTrusted ? changed : { ...changed, enabled: false };
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

/** Those asked for, and whom they would ask instead of themselves. */
function withFallbacks(names: readonly string[], { mcpServers }: LoadedConfig): string[] {
  const found = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    open.push(...fallbackNames(mcpServers[name]?.fallback));
  }
  return [...found];
}

function fallbackNames(fallback: FallbackOption | undefined): readonly string[] {
  if (fallback === undefined) return [];
  const servers = typeof fallback === "object" && "servers" in fallback ? fallback.servers : fallback;
  return typeof servers === "string" ? [servers] : servers;
}

function nothingConfigured({ issues }: LoadedConfig): Error {
  if (issues.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues });
  return new CliError({
    code: "NO_SERVERS",
    message: "There is no file with servers for this project or this user",
    next: "toolport add <name> <url>",
    exitCode: EXIT.configuration,
  });
}

/** A server that is not there, or one whose entry is wrong. */
export function unknownServer(name: string, names: readonly string[], { issues }: LoadedConfig): Error {
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
