/** The handshake in either era, and what the server says about itself. */
import type {
  Client,
  ClientOptions,
  DiscoverResult,
  Implementation,
  ServerCapabilities,
} from "@modelcontextprotocol/client";
import {
  ConnectionError,
  loadOnce,
  ToolCallError,
  type ToolportError,
  toRecord,
  withDeadline,
} from "@toolport/base";
import { createSchemaValidator, createSdkValidator, type SchemaValidator } from "@toolport/schemas/internal";
import type { ServerConfig } from "../config/server-config.js";
import {
  type ClientIdentity,
  createEnvelope,
  type Era,
  isModernVersion,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
  type RememberedEra,
  SERVER_INFO_META_KEY,
  TASKS_VERSION,
  withoutTasks,
} from "./era.js";
import type { RequestChannel } from "./request-channel.js";

export interface Handshake {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The unchanged result of `initialize` or `server/discover`, for the SDK's client and for the era memory. */
  readonly result: Readonly<Record<string, unknown>>;
  /** False if the era was only inferred from a missing response: it is not remembered. */
  readonly isCertain: boolean;
}

interface HandshakeOptions {
  readonly config: ServerConfig;
  readonly identity: ClientIdentity;
  readonly remembered?: RememberedEra | undefined;
  readonly timeoutMs: number;
  readonly silenceMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** Connects in the era that is configured, remembered or negotiated. */
export async function handshake(channel: RequestChannel, options: HandshakeOptions): Promise<Handshake> {
  const { config, timeoutMs, signal } = options;
  const startedAt = performance.now();
  // A server that accepts the connection but never responds would keep an event stream or a WebSocket opening forever.
  const onTimeout = () => connectTimeout(config, timeoutMs);
  await withDeadline(channel.start(), { signal, timeoutMs, onTimeout });
  const leftMs = Math.max(1, timeoutMs - (performance.now() - startedAt));
  const done = await runHandshake(channel, { ...options, timeoutMs: leftMs }).catch((error: unknown) => {
    throw isTimeout(error) ? connectTimeout(config, timeoutMs, error) : error;
  });
  channel.setProtocolVersion(done.protocolVersion);
  const { remembered } = options;
  const isResumed = remembered?.era === "legacy" && remembered.resume !== undefined;
  if (done.era === "legacy" && !isResumed) await channel.notify("notifications/initialized");
  return done;
}

const isTimeout = (error: unknown): boolean => error instanceof ToolCallError && error.code === "TIMEOUT";

async function runHandshake(channel: RequestChannel, options: HandshakeOptions): Promise<Handshake> {
  const { config, remembered } = options;
  const negotiation: NegotiationOptions = {
    server: config.name,
    identity: options.identity,
    legacyVersion: legacyVersions(config)[0],
    timeoutMs: options.timeoutMs,
    // Over HTTP a running server always responds.
    silenceMs: config.kind === "http" ? Number.POSITIVE_INFINITY : options.silenceMs,
    signal: options.signal,
  };
  if (remembered?.era === "legacy" && remembered.resume !== undefined) {
    channel.resumeSession(remembered.resume.sessionId);
    return legacyHandshake(remembered.resume.result, config);
  }
  if (remembered?.era === "modern") return modernHandshake(remembered.discover, config);
  if (remembered?.era === "legacy" || isLegacyOnly(config))
    return legacyHandshake(await initialize(channel, negotiation), config);
  const isLegacyAllowed = !isModernPin(config.protocol);
  const verdict = await negotiate(channel, { ...negotiation, isLegacyAllowed });
  if (verdict.era === "modern") return modernHandshake(verdict.discover, config);
  return legacyHandshake(verdict.initializeResult, config, verdict.isCertain);
}

/** The configuration requires a modern revision. */
export const isModernPin = (protocol: ServerConfig["protocol"]): boolean =>
  typeof protocol === "object" && isModernVersion(protocol.pin);

const isLegacyOnly = ({ kind, protocol }: ServerConfig): boolean =>
  kind === "sse" || protocol === "legacy" || (typeof protocol === "object" && !isModernPin(protocol));

/** The revisions accepted in `initialize`; the first is offered to the server. */
function legacyVersions({ protocol, clientOptions }: ServerConfig): readonly string[] {
  if (typeof protocol === "object" && !isModernPin(protocol)) return [protocol.pin];
  const given = clientOptions?.reveal().supportedProtocolVersions?.filter((one) => !isModernVersion(one));
  return given !== undefined && given.length > 0 ? given : LEGACY_VERSIONS;
}

function modernHandshake(
  discover: Readonly<Record<string, unknown>>,
  { name, protocol }: ServerConfig,
): Handshake {
  const offered = discover["supportedVersions"] as readonly string[];
  const known = typeof protocol === "object" ? [protocol.pin] : MODERN_VERSIONS;
  const protocolVersion = known.find((version) => offered.includes(version));
  if (protocolVersion === undefined) throw notModern(name, known);
  const meta = toRecord(discover["_meta"]) ?? {};
  const about = aboutServer(discover, meta[SERVER_INFO_META_KEY]);
  return { era: "modern", protocolVersion, ...about, result: discover, isCertain: true };
}

function legacyHandshake(initializeResult: unknown, config: ServerConfig, isCertain = true): Handshake {
  const result = toRecord(initializeResult) ?? {};
  const { protocolVersion } = result;
  const known = legacyVersions(config);
  if (typeof protocolVersion !== "string" || !known.includes(protocolVersion)) {
    const what = `The server chose the protocol version ${JSON.stringify(protocolVersion)}, which is not supported`;
    throw failed(config.name, what, `Use a server that supports one of ${known.join(", ")}`);
  }
  return { era: "legacy", protocolVersion, ...aboutServer(result, result["serverInfo"]), result, isCertain };
}

/** Ignores malformed fields: they are not worth failing the connection. */
function aboutServer(result: Readonly<Record<string, unknown>>, info: unknown) {
  const { instructions, capabilities } = result;
  const { name, version } = toRecord(info) ?? {};
  return {
    serverInfo:
      typeof name === "string"
        ? ({ ...toRecord(info), version: typeof version === "string" ? version : "" } as Implementation)
        : undefined,
    capabilities: (toRecord(capabilities) ?? {}) as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

/** Programs that may download a package before they run it. */
const RUNNER = /(?:^|[\\/])(?<name>npx|pnpx|bunx|uvx|pipx|npm|pnpm|yarn|bun|uv|deno)(?:\.cmd|\.exe)?$/i;

function connectTimeout(config: ServerConfig, timeoutMs: number, cause?: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server: config.name,
    phase: "connect",
    what: `The server was not connected within ${Math.round(timeoutMs)} ms`,
    next: `Raise connectTimeoutMs (--timeout on the command line)${slowStart(config)}`,
    retryable: true,
    outcome: "unsent",
    cause,
  });
}

/** Why the first start of the server may take longer; appended to the advice of an error. */
export function slowStart(config: ServerConfig): string {
  if (config.kind === "docker") return ": the image may have to be downloaded first";
  const runner = config.kind === "stdio" ? RUNNER.exec(config.command)?.groups?.["name"] : undefined;
  if (runner !== undefined) return `: the first run of ${runner} downloads the package`;
  return ", or check that it is an MCP server";
}

/*
 * Negotiates the era of a server over the open connection.
 *
 * The client sends `server/discover` first. If a process does not respond within two seconds, the client sends `initialize` as
 * well, and the first successful response decides: a slow modern server is not taken for a legacy one, and a legacy server that
 * ignores unknown methods costs two seconds, not a whole timeout. Over HTTP a missing response means an outage, and an error
 * status counts like an error response.
 */

const SILENCE_MS = 2_000;
const UNSUPPORTED_VERSION = -32022;

type Verdict =
  | { readonly era: "modern"; readonly discover: Record<string, unknown> }
  /** `isCertain` is false if the era was only inferred from a missing response: it is not remembered. */
  | { readonly era: "legacy"; readonly initializeResult: unknown; readonly isCertain: boolean };

export interface NegotiationOptions {
  server: string;
  identity: ClientIdentity;
  /** Revision offered in `initialize`. @default the newest legacy one */
  legacyVersion?: string | undefined;
  /** Total timeout of all requests. */
  readonly timeoutMs: number;
  /** How long to wait for a response before `initialize` is sent as well. `Infinity`: never send it. @default 2000 */
  silenceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whether `initialize` may be sent at all. @default true */
  isLegacyAllowed?: boolean | undefined;
}

type Discovery =
  | { modern: Record<string, unknown> }
  | { modern: undefined; error: ToolportError | undefined };

const supports = (list: unknown): boolean =>
  Array.isArray(list) && MODERN_VERSIONS.some((v) => list.includes(v));

/** The server supports only modern revisions that are unknown here: `initialize` would fail as well. */
const supportsOtherModern = (list: unknown): boolean =>
  Array.isArray(list) && list.some((version) => typeof version === "string" && isModernVersion(version));

/** Over HTTP, legacy servers reject unknown methods with a status. 401, 403 and 5xx say nothing about the era. */
function isUnsupportedByStatus(error: unknown): error is ConnectionError {
  if (!(error instanceof ConnectionError)) return false;
  const { code, status = 0 } = error;
  // A browser may block the headers of modern requests (CORS) without naming the reason.
  const { window, document } = globalThis as { window?: unknown; document?: unknown };
  if (code === "UNREACHABLE") return window !== undefined && document !== undefined;
  return code === "HTTP_STATUS" && status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);
}

/** Sends `server/discover`; once more if the error names a revision that both sides support (-32022). */
async function discover(
  channel: RequestChannel,
  options: NegotiationOptions,
  mayRepeat = true,
): Promise<Discovery> {
  const { server, identity, timeoutMs, signal } = options;
  try {
    const params = { _meta: createEnvelope(MODERN_VERSIONS[0], identity) };
    const result = await channel.request("server/discover", params, {
      timeoutMs,
      maxTimeoutMs: timeoutMs,
      signal,
      quiet: true,
    });
    const modern = result as Record<string, unknown> | null;
    return supports(modern?.["supportedVersions"])
      ? { modern: modern! }
      : { modern: undefined, error: undefined };
  } catch (error) {
    if (isUnsupportedByStatus(error)) return { modern: undefined, error };
    if (!(error instanceof ToolCallError) || error.code !== "PROTOCOL") throw error;
    const supported = (error.data as { supported?: unknown } | undefined)?.supported;
    if (error.rpcCode === UNSUPPORTED_VERSION && supports(supported)) {
      // A server that rejects a revision it claims to support may still accept `initialize`.
      return mayRepeat ? discover(channel, options, false) : { modern: undefined, error };
    }
    if (error.rpcCode === UNSUPPORTED_VERSION && supportsOtherModern(supported))
      throw failed(
        server,
        `The server supports ${JSON.stringify(supported)}, and Toolport supports none of these revisions`,
        "Update Toolport, or the server",
        error,
      );
    return { modern: undefined, error };
  }
}

function initialize(channel: RequestChannel, options: NegotiationOptions): Promise<unknown> {
  const { identity, legacyVersion = LEGACY_VERSIONS[0], timeoutMs, signal } = options;
  const params = {
    protocolVersion: legacyVersion,
    capabilities:
      legacyVersion === TASKS_VERSION ? identity.capabilities : withoutTasks(identity.capabilities),
    clientInfo: identity.clientInfo,
  };
  return channel.request("initialize", params, { timeoutMs, maxTimeoutMs: timeoutMs, signal, quiet: true });
}

/** The channel must be started. */
export async function negotiate(channel: RequestChannel, options: NegotiationOptions): Promise<Verdict> {
  const { server, isLegacyAllowed = true } = options;
  const silenceMs = isLegacyAllowed ? (options.silenceMs ?? SILENCE_MS) : Number.POSITIVE_INFINITY;
  const loser = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, loser.signal]) : loser.signal;
  const endsAt = performance.now() + options.timeoutMs;
  const racing: NegotiationOptions = {
    ...options,
    signal,
    // All requests share one timeout: later ones have less time left.
    get timeoutMs() {
      return Math.max(1, endsAt - performance.now());
    },
  };
  const discovering = discover(channel, racing);
  let isRace = false;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<"silent">((resolve) => {
    if (silenceMs !== Number.POSITIVE_INFINITY) silent = setTimeout(resolve, silenceMs, "silent");
  });
  try {
    const first = await Promise.race([discovering, silence]);
    if (first !== "silent") {
      if (first.modern !== undefined) return { era: "modern", discover: first.modern };
      if (!isLegacyAllowed) throw notModern(server, MODERN_VERSIONS, first.error);
      return { era: "legacy", initializeResult: await initialize(channel, racing), isCertain: true };
    }
    isRace = true;
    return await firstSuccess(discovering, initialize(channel, racing), server);
  } finally {
    clearTimeout(silent);
    discovering.catch(() => {});
    // Only a race leaves an open request. Skip the abort otherwise: creating its error with a stack is expensive.
    if (isRace) loser.abort();
  }
}

async function firstSuccess(
  discovering: Promise<Discovery>,
  initializing: Promise<unknown>,
  server: string,
): Promise<Verdict> {
  const modern = discovering.then((found): Verdict => {
    if (found.modern === undefined) throw found.error ?? noResponse(server);
    return { era: "modern", discover: found.modern };
  });
  // A late error response to `server/discover` proves the era like an immediate one.
  let isRejected = false;
  modern.catch((error: unknown) => {
    isRejected = error instanceof ToolCallError && error.code === "PROTOCOL";
  });
  const legacy = initializing.then(
    (result): Verdict => ({ era: "legacy", initializeResult: result, isCertain: isRejected }),
  );
  try {
    return await Promise.any([modern, legacy]);
  } catch {
    // Both failed: throw the error of `initialize`, which is the more helpful one.
    await legacy;
    throw noResponse(server);
  }
}

function notModern(server: string, wanted: readonly string[], cause?: ToolportError): ConnectionError {
  const what = `The server does not support ${wanted.join(" or ")}`;
  return failed(server, what, 'Remove `protocol`, or set it to "auto"', cause);
}

const failed = (server: string, what: string, next: string, cause?: unknown): ConnectionError =>
  new ConnectionError({ code: "HANDSHAKE_FAILED", server, what, next, cause });

function noResponse(server: string): ConnectionError {
  return new ConnectionError({
    code: "HANDSHAKE_FAILED",
    server,
    what: "The server responded neither to server/discover nor to initialize",
    next: "Check that the command starts an MCP server",
    retryable: true,
    outcome: "unsent",
  });
}

/*
 * Creates the SDK's client of one connection on demand.
 *
 * Toolport sends lists and calls itself. The client responds to requests of servers, implements subscriptions to modern
 * servers and is available to users. Loading it costs more than everything else in a connection, and most connections never
 * need it.
 */

interface LazyClientParts {
  readonly channel: RequestChannel;
  readonly config: ServerConfig;
  readonly identity: ClientIdentity;
  readonly handshake: Handshake;
  /** @default a new validator */
  readonly validator: SchemaValidator | undefined;
  /** Registers request handlers with the new client. */
  readonly prepare: (client: Client) => void;
}

export type LazyClient = ReturnType<typeof createLazyClient>;

/** The channel also creates the client when the server sends a request that only the client can answer. */
export function createLazyClient(parts: LazyClientParts) {
  const { channel } = parts;
  let joined: Client | undefined;
  const get = loadOnce(async () => {
    joined = await join(parts);
    return joined;
  });
  // Ignore failures: only the requests of the server need the client.
  channel.sdkTransport.onneeded = () => void get().catch(() => {});
  return {
    /** The connected client, shared by all callers. */
    get,
    /** Closes the client if it was created. */
    async close(): Promise<void> {
      channel.sdkTransport.onneeded = undefined;
      // Do not wait for a client that is still connecting: if it rejects the server's handshake result, that takes a minute.
      // Closing the channel ends it.
      await joined?.close();
    },
  };
}

async function join({ channel, handshake, prepare, ...options }: LazyClientParts): Promise<Client> {
  const client = await createClient(options);
  prepare(client);
  // The SDK also throws these errors, or they concern a single message. Without a handler it would log them.
  client.onerror = () => {};
  const { era, result } = handshake;
  const prior =
    era === "modern"
      ? { kind: era, discover: result as Partial<DiscoverResult> as DiscoverResult }
      : ({ kind: era } as const);
  await channel.sdkTransport.join(result, () => client.connect(channel.sdkTransport, { prior }));
  return client;
}

async function createClient({
  config,
  identity,
  validator,
}: Pick<LazyClientParts, "config" | "identity" | "validator">): Promise<Client> {
  // Its `listChanged` handlers would replace those of Toolport, which would then miss changes.
  const { listChanged: _, ...given } = config.clientOptions?.reveal() ?? {};
  const [{ Client }, jsonSchemaValidator] = await Promise.all([
    // With the first client: its import takes longer than that of all of Toolport.
    import("@modelcontextprotocol/client"),
    // The SDK's default validator compiles code, and a hostile pattern can block it.
    given.jsonSchemaValidator ?? createSdkValidator(validator ?? createSchemaValidator()),
  ]);
  const options: ClientOptions = {
    ...given,
    // It does not support tasks.
    capabilities: withoutTasks(identity.capabilities),
    jsonSchemaValidator,
    supportedProtocolVersions: [...legacyVersions(config)],
  };
  return new Client(identity.clientInfo, options);
}
