/** Opens the port of a command from the user's files, saved state and consent, connects its servers, and finds a tool. */

import {
  AuthError,
  type CatalogError,
  ConfigError,
  type ConfigIssue,
  ConnectionError,
  type ConnectionErrorCode,
  isRecord,
  mapConcurrently,
  suggest,
  ToolCallError,
  type ToolInfo,
} from "@toolport/base";
import type { LoadedConfig } from "@toolport/config";
import { hasVariables, textsIn } from "@toolport/config/internal";
import { createToolport, type ServerReport, type ToolportOptions } from "@toolport/core";
import { withheldError } from "@toolport/core/internal";
import type { CommandContext, OpenedPort, OpenPortOptions, ServerOrigin, WrittenServers } from "./command.js";
import { CliError, configurationError, EXIT, errorDocument, exitCodeOf } from "./errors.js";
import { disabledServer, savedNames, TYPED_SOURCE, unknownServer } from "./load-servers.js";
import { plainBlock, plainLine } from "./plain-text.js";
import { elicitOnTerminal } from "./questions.js";
import { shellWord } from "./shell-words.js";

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
    context.warn([line === undefined ? file : `${file}:${line}`, path, message].filter(Boolean).join(": "));
}

function timeouts({ timeoutMs }: CommandContext): Partial<ToolportOptions> {
  if (timeoutMs === undefined) return {};
  const maxTimeoutMs = Math.max(timeoutMs, DEFAULT_MAX_TIMEOUT_MS);
  return { timeoutMs, connectTimeoutMs: timeoutMs, maxTimeoutMs };
}

/** The requested servers and their fallbacks. */
function withFallbacks(asked: readonly string[], { servers }: WrittenServers): string[] {
  const wanted = new Set<string>();
  const open = [...asked];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (wanted.has(name)) continue;
    wanted.add(name);
    const { fallback } = servers.get(name)?.translated.entry ?? {};
    const names = textsIn(isRecord(fallback) ? fallback["servers"] : fallback);
    // The value of a variable is unknown here: include all servers.
    open.push(...(names.some(hasVariables) ? servers.keys() : names));
  }
  return [...wanted];
}

function nothingConfigured({ issues }: { issues: readonly ConfigIssue[] }): Error {
  if (issues.length > 0) return new ConfigError({ code: "INVALID_CONFIG", issues });
  return configurationError(
    "NO_SERVERS",
    "No configuration file with servers was found for this project or user",
    "toolport add <name> <url>",
  );
}

/** The outcome of connecting a server. */
export type ServerStatus = "ok" | "auth" | "offline" | "error" | "disabled";

export type ServerOutcome = Awaited<ReturnType<typeof connectServer>>;

/** Error codes of servers that did not respond. Other codes mean that the server responded with an error. */
const OFFLINE: readonly ConnectionErrorCode[] = [
  ...(["SPAWN_FAILED", "UNREACHABLE", "CONNECT_TIMEOUT", "RESTART_LIMIT"] as const),
  ...(["CIRCUIT_OPEN", "CLOSED", "SESSION_LOST", "STREAM_CUT"] as const),
];

/** As many servers connect at once as a port would connect. */
const CONCURRENCY = 32;

interface ConnectOptions {
  /** @default all servers of the port */
  readonly names?: readonly string[] | undefined;
  /** Called with each outcome as soon as it is known. */
  readonly onOutcome?: (outcome: ServerOutcome) => Promise<void>;
}

/**
 * Connects servers. Never throws for a server that fails or was left out. The outcomes are in the order of the files; servers of the
 * saved state come last.
 */
export async function connectServers(
  context: CommandContext,
  opened: OpenedPort,
  { names, onOutcome }: ConnectOptions = {},
): Promise<ServerOutcome[]> {
  const { toolport } = opened;
  const title = names === undefined ? "Connecting" : `Connecting to ${names.join(", ")}`;
  return context.progress(title, async (update) => {
    const waiting = new Set<string>();
    const stop = toolport.on("state", ({ server, to }) => {
      if (["connecting", "connected", "discovering"].includes(to)) waiting.add(server);
      else waiting.delete(server);
      if (context.isVerbose) context.info(`${server}: ${to}`, "dim");
      if (waiting.size > 0) update(`Connecting to ${[...waiting].join(", ")}`);
    });
    try {
      return await mapConcurrently(names ?? serversIn(opened), CONCURRENCY, async (name) => {
        const outcome = await connectServer(context, opened, name);
        await onOutcome?.(outcome);
        return outcome;
      });
    } finally {
      stop();
    }
  });
}

/** The names of all servers, including those that were left out. */
export function serversIn({ sources, config, leftOut, saved }: OpenedPort): string[] {
  const isThere = (name: string) => Object.hasOwn(config.mcpServers, name) || leftOut.has(name);
  return [...new Set([...Object.keys(sources).filter(isThere), ...saved])];
}

/** Where a server comes from, as `--json` prints it. */
export function sourceOf({ sources }: OpenedPort, name: string): ServerOrigin {
  const { file, line, kind } = sources[name] ?? { kind: "store" };
  if (file === undefined) return { kind: "store" };
  return file === TYPED_SOURCE ? { kind: "typed" } : { kind, file, line: line! };
}

async function connectServer({ signal }: CommandContext, { toolport, leftOut }: OpenedPort, name: string) {
  const { servers } = leftOut.has(name)
    ? { servers: {} }
    : await toolport.connect({ servers: [name], signal });
  // The port does not connect a disabled server.
  const report = new Map<string, ServerReport>(Object.entries(servers)).get(name);
  if (report !== undefined) {
    const { state, error, authUrl, toolCount, ms } = report;
    return { name, status: statusOf(state, error), state, error, authUrl, toolCount, ms };
  }
  /** Why the server cannot be used: it is disabled, or has no consent. */
  const error = leftOut.get(name) ?? disabledServer(name);
  const status: ServerStatus = error.code === "DISABLED" ? "disabled" : "error";
  return { name, status, state: "closed" as const, error, authUrl: undefined, toolCount: 0, ms: 0 };
}

function statusOf(state: ServerReport["state"], error: Error | undefined): ServerStatus {
  if (error === undefined && state === "ready") return "ok";
  if (state === "authenticating" || error instanceof AuthError) return "auth";
  if (error instanceof ToolCallError && error.phase === "connect") return "offline";
  return error instanceof ConnectionError && OFFLINE.includes(error.code) ? "offline" : "error";
}

/** Connects one server. Throws if that fails. */
export async function requireServer(
  context: CommandContext,
  opened: OpenedPort,
  name: string,
): Promise<ServerOutcome> {
  const [outcome] = await connectServers(context, opened, { names: [name] });
  if (outcome?.error !== undefined) throw outcome.error;
  return outcome!;
}

/**
 * Connects the named server, or all servers, for a list. Failures are printed as warnings, and change the exit code only
 * if every server failed.
 */
export async function connectForList(
  context: CommandContext,
  opened: OpenedPort,
  server: string | undefined,
) {
  if (server !== undefined) await requireServer(context, opened, server);
  const outcomes = server === undefined ? await connectServers(context, opened) : [];
  const failed = outcomes.filter(({ status }) => status !== "ok" && status !== "disabled");
  for (const { name, error } of failed)
    context.warn(
      plainBlock(`${plainLine(name)}: ${errorDocument(error, context.typed).message}`).split("\n"),
    );
  const isNothing = failed.length > 0 && failed.length === outcomes.length;
  return {
    errors: failed.map(({ name, error }) => ({ ...errorDocument(error, context.typed), server: name })),
    exitCode: isNothing ? exitCodeOf(failed[0]!.error) : EXIT.ok,
  };
}

/** The server that a selector begins with, longest name first; undefined if no name matches. */
export function serversOf(selector: string, names: readonly string[]): string[] | undefined {
  const fitting = names.filter((name) => [".", "__"].some((mark) => selector.startsWith(`${name}${mark}`)));
  const [longest] = fitting.sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : [longest];
}

/** The server that a selector is or begins with; undefined if there is none. Throws if the selector misspells the name of one. */
export function serversNamed(
  selector: string,
  names: readonly string[],
  context: CommandContext,
): string[] | undefined {
  const owners = names.includes(selector) ? [selector] : serversOf(selector, names);
  if (owners === undefined) throwIfMistyped(selector, names, context);
  return owners;
}

/** Connects the server of a tool (all servers, if the server is unknown) and finds the tool. */
export async function requireTool(
  context: CommandContext,
  opened: OpenedPort,
  { server, selector }: { server: string | undefined; selector: string },
): Promise<ToolInfo> {
  if (server === undefined) await connectServers(context, opened);
  else await requireServer(context, opened, server);
  const tools = await opened.toolport.tools({ all: true, signal: context.signal });
  const tool = findTool(tools, selector);
  if (tool !== undefined) return tool;
  if (server === selector)
    throw new CliError(
      `${JSON.stringify(server)} is a server. Name one of its tools: ${server}.<tool>`,
      `toolport tools ${shellWord(server)}`,
    );
  throw (server !== undefined && withheld(opened, server, selector)) || missing(tools, selector, context);
}

/** Matches `server.tool`, the public name, or the tool's own name if it is unique. */
function findTool(tools: readonly ToolInfo[], selector: string): ToolInfo | undefined {
  const exact = tools.find(
    (tool) => `${tool.server}.${tool.sourceName}` === selector || tool.name === selector,
  );
  if (exact !== undefined) return exact;
  const bare = tools.filter((tool) => tool.sourceName === selector);
  return bare.length === 1 ? bare[0] : undefined;
}

/** Prevents a misspelt server name from starting every server. */
function throwIfMistyped(selector: string, names: readonly string[], { command }: CommandContext): void {
  const mark = selector.indexOf(".");
  if (mark < 0) return;
  const [close] = suggest(selector.slice(0, mark), names, 1);
  if (close === undefined) return;
  const meant = `${close}${selector.slice(mark)}`;
  throw configurationError(
    "UNKNOWN_SERVER",
    `There is no server ${JSON.stringify(selector.slice(0, mark))}. Did you mean ${close}?`,
    `toolport ${command.name} ${shellWord(meant)}`,
  );
}

function withheld({ toolport }: OpenedPort, server: string, selector: string): CatalogError | undefined {
  const tool = toolport
    .snapshot()
    .withheldTools.find(
      ({ server: own, name }) => own === server && [`${own}.${name}`, `${own}__${name}`].includes(selector),
    );
  return tool && withheldError(tool);
}

function missing(tools: readonly ToolInfo[], selector: string, { command }: CommandContext): CliError {
  const names = tools.flatMap((tool) => [`${tool.server}.${tool.sourceName}`, tool.name]);
  const [close] = suggest(selector, names, 1);
  const [server] = serversOf(selector, [...new Set(tools.map((tool) => tool.server))]) ?? [];
  return new CliError(
    `There is no tool ${JSON.stringify(selector)}${close === undefined ? "" : `. Did you mean ${close}?`}`,
    close === undefined
      ? `toolport tools${server === undefined ? "" : ` ${shellWord(server)}`}`
      : `toolport ${command.name} ${shellWord(close)}`,
    { code: "TOOL_NOT_FOUND" },
  );
}
