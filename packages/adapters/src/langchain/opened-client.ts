/** What an open `MultiServerMCPClient` works with: its configuration, its port, the ports of callers, log levels, background retries, notifications. */
import type { LoggingLevel, RequestId } from "@modelcontextprotocol/client";
import {
  AuthError,
  ConfigError,
  callSafely,
  definedFields,
  type Fields,
  fullJitterMs,
  isRecord,
  isSafeName,
  joinName,
  markedNames,
  oncePerObject,
  pause,
  type ToolInfo,
  type ToolportError,
  toolIdentity,
  type WithheldTool,
} from "@toolport/base";
import {
  createToolport,
  type HttpServerEntry,
  type PrincipalOptions,
  type ServerEntry,
  type ServerReport,
  type Toolport,
} from "@toolport/core";
import { ENTRY_KEYS } from "@toolport/core/internal";
import { SCHEMA_TARGETS, type SchemaForm } from "@toolport/schemas/internal";
import type {
  ClientConfig,
  Connection,
  CustomHTTPTransportOptions,
  Notifications,
  ServerMessageSource,
} from "./client-config.js";
import { OUTPUT_TYPES } from "./content.js";
import { ConfigZodError, MCPClientError, toZodError, type ZodIssue } from "./errors.js";

/** What a closed client creates again when it is used. */
export interface OpenedClient {
  readonly toolport: Toolport;
  readonly callers: CallerPorts;
  readonly levels: LoggingLevels;
  readonly retries: BackgroundRetries;
  /** Tools that LangChain rejected, by server. */
  readonly unconverted: Map<string, readonly WithheldTool[]>;
}

/** @throws an error named `ZodError` with `issues` if a server's configuration is invalid */
export function openClient({ config, entries, isBareMap }: ReadConfig): OpenedClient {
  try {
    const toolport = createToolport({
      ...config.toolport,
      mcpServers: entries,
      prefix: config.prefixToolNameWithServerName ?? false,
      additionalToolNamePrefix: config.additionalToolNamePrefix ?? "",
    });
    const report = (error: unknown) => config.toolport?.logger?.warn(`A hook threw: ${String(error)}`);
    passNotifications(toolport, config, report);
    return {
      toolport,
      callers: new CallerPorts(toolport),
      levels: new LoggingLevels(toolport),
      retries: new BackgroundRetries(),
      unconverted: new Map(),
    };
  } catch (error) {
    throw error instanceof ConfigError ? toZodError(error, isBareMap) : error;
  }
}

/** Names tools one after the other: each keeps its name unless another tool already has it. */
export function uniqueNames(additionalPrefix: string): (tool: ToolInfo) => string {
  const taken = new Set<string>();
  return ({ name, server, sourceName }) => {
    let free = name;
    if (taken.has(free)) {
      const parts = { prefixes: additionalPrefix === "" ? [] : [additionalPrefix], tool: sourceName };
      const others = markedNames(parts, toolIdentity(server, sourceName));
      const plain = joinName(parts);
      if (isSafeName(plain)) free = plain;
      while (taken.has(free)) free = others.next().value;
    }
    taken.add(free);
    return free;
  };
}

/** The ports of callers with their own headers or credentials: one each, for the lifetime of the client. */
class CallerPorts {
  readonly #ports = new Map<string, Toolport>();
  #lastProvider = 0;
  readonly #numberOf = oncePerObject((_provider: object) => {
    this.#lastProvider += 1;
    return this.#lastProvider;
  });

  constructor(private readonly toolport: Toolport) {}

  /** All ports so far, except the plain one. */
  get ports(): Iterable<Toolport> {
    return this.#ports.values();
  }

  /** Identifies a caller by its headers and provider; undefined without both. */
  portFor({ headers, authProvider }: CustomHTTPTransportOptions = {}): Toolport {
    const fields = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
    if (fields.length === 0 && authProvider === undefined) return this.toolport;
    const identity = JSON.stringify([
      fields.sort(),
      authProvider === undefined ? 0 : this.#numberOf(authProvider),
    ]);
    const existing = this.#ports.get(identity);
    if (existing !== undefined) return existing;
    // Names appear in logs and traces, so this one reveals nothing about the credentials.
    const port = this.toolport.as(`caller-${crypto.randomUUID()}`, {
      ...(fields.length > 0 && { headers: { ...headers } }),
      ...(authProvider !== undefined && {
        // A provider of SDK v1 has the same methods under the same names.
        authProvider: authProvider as NonNullable<PrincipalOptions["authProvider"]>,
      }),
    });
    this.#ports.set(identity, port);
    return port;
  }
}

/** In the modern era, every request contains the level. */
const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";

/** Requests log messages from servers, as each era requires, and again after every reconnect. */
class LoggingLevels {
  readonly #levels = new Map<string, LoggingLevel>();

  constructor(private readonly toolport: Toolport) {
    toolport.on("state", ({ server, to, principal }) => {
      const level = this.#levels.get(server);
      if (to !== "ready" || principal !== undefined || level === undefined) return;
      // A new connection starts without a level. If setting it fails, only log messages are missing.
      this.#sendLevel(server, level).catch(() => {});
    });
  }

  async set(server: string, level: LoggingLevel): Promise<void> {
    this.#levels.set(server, level);
    await this.#sendLevel(server, level);
  }

  /** `_meta` for a call of a server. */
  metaOf(server: string): Readonly<Record<string, unknown>> | undefined {
    const level = this.#levels.get(server);
    return level === undefined ? undefined : { [LOG_LEVEL_META]: level };
  }

  async #sendLevel(server: string, level: LoggingLevel): Promise<void> {
    const { era, capabilities } = this.toolport.snapshot().servers[server] ?? {};
    if (era !== "legacy" || capabilities?.["logging"] === undefined) return;
    await (await this.toolport.client(server)).setLoggingLevel(level);
  }
}

/** After a failure that took longer than this, callers do not wait for the server again. */
const SLOW_MS = 1_000;
const TIMEOUTS = new Set(["CONNECT_TIMEOUT", "TIMEOUT"]);

type Failures = Map<string, ToolportError>;

class BackgroundRetries {
  readonly #ended = new AbortController();
  /** Servers that are tried in the background, with their last error; every caller's port has its own connections. */
  readonly #failures = new Map<Toolport, Failures>();

  /** Why a server is skipped; undefined if it should be connected. */
  errorOf(port: Toolport, server: string): ToolportError | undefined {
    return this.#failures.get(port)?.get(server);
  }

  /** Retries a server in the background, if its failure was slow and its entry allows it. */
  note(
    port: Toolport,
    server: string,
    { error, ms }: Pick<ServerReport, "error" | "ms">,
    // The option has two names, by transport.
    {
      restart,
      reconnect = {},
    }: { restart?: HttpServerEntry["reconnect"]; reconnect?: HttpServerEntry["reconnect"] },
  ): void {
    const { enabled = true, maxAttempts = Number.POSITIVE_INFINITY } = restart ?? reconnect;
    // Another attempt would ask the user to log in again.
    if (error === undefined || error instanceof AuthError) return;
    if (ms < SLOW_MS && !TIMEOUTS.has(error.code)) return;
    const failures: Failures = this.#failures.get(port) ?? new Map();
    this.#failures.set(port, failures);
    if (failures.has(server) || !enabled) return;
    failures.set(server, error);
    const { signal } = this.#ended;
    const retry = async () => {
      for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
        await pause(fullJitterMs(attempt), signal);
        const { servers } = await port.connect({ servers: [server], signal });
        const latest = servers[server]?.error;
        if (latest === undefined || latest instanceof AuthError) return;
        failures.set(server, latest);
      }
    };
    // Attempts end with success, when they are used up, when a login is required, or when the port closes.
    retry()
      .catch(() => {})
      .finally(() => failures.delete(server));
  }

  /** Ends all attempts. */
  stop(): void {
    this.#ended.abort();
  }
}

const LIST_HOOKS = [
  ["tools", "onToolsListChanged"],
  ["resources", "onResourcesListChanged"],
  ["prompts", "onPromptsListChanged"],
] as const;

/** Listens until the port is closed. Errors of the callbacks are passed to `report`. */
function passNotifications(toolport: Toolport, config: ClientConfig, report: (error: unknown) => void): void {
  const hooks: Notifications = config;
  // The promise is returned to the port, which limits how many calls of a slow hook run and wait.
  const call = (server: string, run: (source: ServerMessageSource) => unknown) => {
    const options = config.mcpServers[server];
    return options && callSafely(() => run({ server, options }), report);
  };

  toolport.on("state", ({ server, to }) =>
    to === "connected" ? call(server, (source) => hooks.onInitialized?.(source)) : undefined,
  );
  toolport.on("notification", ({ server, method, params }) =>
    call(server, (source) => {
      switch (method) {
        case "notifications/message": {
          const { level, logger, data } = params as { level: LoggingLevel; logger?: string; data?: unknown };
          return hooks.onMessage?.({ level, logger, data }, source);
        }
        case "notifications/cancelled": {
          const { requestId, reason } = params as { requestId?: RequestId; reason?: string };
          return requestId === undefined ? undefined : hooks.onCancelled?.({ requestId, reason }, source);
        }
        case "notifications/resources/updated":
          return hooks.onResourcesUpdated?.({ ...params, uri: String(params["uri"]) }, source);
        case "notifications/roots/list_changed":
          return hooks.onRootsListChanged?.(source, source);
        default:
          return undefined;
      }
    }),
  );
  // Called after the lists were read again, so that `getTools()` in the hook returns the new tools.
  for (const [list, hook] of LIST_HOOKS)
    toolport.on("listsChanged", ({ server, lists }) =>
      lists.includes(list) ? call(server, (source) => hooks[hook]?.(source, source)) : undefined,
    );
}

export interface ReadConfig {
  /** As given, with defaults. */
  readonly config: ClientConfig;
  /** For `createToolport`. */
  readonly entries: Readonly<Record<string, ServerEntry>>;
  /** The servers were given at the top level, not in `mcpServers`. */
  readonly isBareMap: boolean;
}

const DEFAULTS: Partial<ClientConfig> = {
  throwOnLoadError: true,
  prefixToolNameWithServerName: false,
  additionalToolNamePrefix: "",
  useStandardContentBlocks: false,
  onConnectionError: "throw",
};
const SCHEMA_FORMS: readonly SchemaForm[] = ["source", ...SCHEMA_TARGETS];
const FLAGS = ["throwOnLoadError", "prefixToolNameWithServerName", "useStandardContentBlocks"] as const;
const FUNCTIONS = [
  ...["beforeToolCall", "afterToolCall", "onProgress", "onMessage", "onInitialized", "onCancelled"],
  ...["onPromptsListChanged", "onResourcesListChanged", "onResourcesUpdated", "onRootsListChanged"],
  ...["onToolsListChanged", "onLeftOut"],
];

/**
 * Reads the configuration.
 *
 * @throws an error named `ZodError` with every problem found here; `createToolport` checks the transports
 */
export function readClientConfig(given: ClientConfig | Readonly<Record<string, Connection>>): ReadConfig {
  const issues: ZodIssue[] = [];
  const report = (path: (string | number)[], message: string) =>
    issues.push({ code: "custom", path, message });
  if (!isRecord(given))
    throw new ConfigZodError([{ code: "custom", path: [], message: "must be an object" }]);
  const isBareMap = !("mcpServers" in given);
  const options: Fields = isBareMap ? {} : given;
  const servers: unknown = isBareMap ? given : given["mcpServers"];
  const at = isBareMap ? [] : ["mcpServers"];
  checkOptions(options, report);
  if (!isRecord(servers)) report(at, "must be an object with one entry per server name");
  const entries: Record<string, ServerEntry> = {};
  for (const [name, entry] of Object.entries(isRecord(servers) ? servers : {})) {
    if (isRecord(entry)) checkOutput(entry, [...at, name], report);
    entries[name] = toEntry(entry);
  }
  if (issues.length > 0) throw new ConfigZodError(issues);
  if (Object.keys(entries).length === 0) throw new MCPClientError("No MCP servers provided");
  const config = { ...DEFAULTS, ...definedFields(options), mcpServers: servers } as ClientConfig;
  return { config, entries, isBareMap };
}

type Report = (path: (string | number)[], message: string) => void;

function checkOptions(options: Fields, report: Report): void {
  for (const key of FLAGS) check(options, key, "boolean", report);
  for (const key of FUNCTIONS) check(options, key, "function", report);
  check(options, "additionalToolNamePrefix", "string", report);
  checkOutput(options, [], report);
  const { onConnectionError: policy, toolErrors, maxResourceBytes, toolport, schema } = options;
  if (schema !== undefined && !SCHEMA_FORMS.includes(schema as SchemaForm)) {
    report(["schema"], `must be one of ${SCHEMA_FORMS.map((form) => JSON.stringify(form)).join(", ")}`);
  }
  if (policy !== undefined && typeof policy !== "function" && policy !== "throw" && policy !== "ignore") {
    report(["onConnectionError"], 'must be "throw", "ignore" or a function');
  }
  if (toolErrors !== undefined && toolErrors !== "throw" && toolErrors !== "message") {
    report(["toolErrors"], 'must be "throw" or "message"');
  }
  for (const key of ["elicitation", "approval"])
    if (options[key] !== undefined && options[key] !== "interrupt") report([key], 'must be "interrupt"');
  if (maxResourceBytes !== undefined && !isAmount(maxResourceBytes)) {
    report(["maxResourceBytes"], "must be a number of at least 0");
  }
  if (toolport !== undefined && !isRecord(toolport)) report(["toolport"], "must be an object");
}

function check(options: Fields, key: string, type: "boolean" | "function" | "string", report: Report): void {
  const value = options[key];
  if (value !== undefined && typeof value !== type) report([key], `must be a ${type}`);
}

/** Checks options that are allowed at the top level and in an entry. */
function checkOutput(fields: Fields, at: string[], report: Report): void {
  const { outputHandling, defaultToolTimeout, audience } = fields;
  if (audience !== undefined && audience !== "respect" && audience !== "ignore")
    report([...at, "audience"], 'must be "respect" or "ignore"');
  if (
    defaultToolTimeout !== undefined &&
    !(isAmount(defaultToolTimeout) && Number.isFinite(defaultToolTimeout))
  ) {
    report([...at, "defaultToolTimeout"], "must be a number of milliseconds; 0 means not set");
  }
  if (outputHandling === undefined || isTarget(outputHandling)) return;
  const path = [...at, "outputHandling"];
  if (!isRecord(outputHandling)) {
    report(path, 'must be "content", "artifact" or an object with one of them for each type');
    return;
  }
  for (const type of OUTPUT_TYPES) {
    const target = outputHandling[type];
    if (target !== undefined && !isTarget(target)) report([...path, type], 'must be "content" or "artifact"');
  }
}

const isTarget = (value: unknown): boolean => value === "content" || value === "artifact";
const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0;

/** The entry without the fields of LangChain and of other programs. */
function toEntry(entry: unknown): ServerEntry {
  if (!isRecord(entry)) return entry as ServerEntry;
  const isOwn = ([key, value]: [string, unknown]) => ENTRY_KEYS.includes(key) && value !== undefined;
  const own = Object.fromEntries(Object.entries(entry).filter(isOwn));
  // Node's "overlapped" equals "pipe" except on Windows, where it opens the pipe differently.
  const cleaned: unknown = own["stderr"] === "overlapped" ? { ...own, stderr: "pipe" } : own;
  return cleaned as ServerEntry;
}
