/** From a server's configuration to a live session: transports in turn, eras in turn, one error in the end. */
import type { Client, ClientOptions, DiscoverResult, JSONRPCMessage } from "@modelcontextprotocol/client";
import type { LogLevel } from "../config/log-levels.js";
import type { HttpConfig, ServerConfig, SseConfig } from "../config/server-config.js";
import { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { createSchemaValidator, type SchemaValidator } from "../schema/create-validator.js";
import { createSdkValidator } from "../schema/sdk-validator.js";
import { createTransport } from "../transports/create-transport.js";
import type { ServerTransport, TransportContext } from "../transports/server-transport.js";
import { pause } from "../util/sleep.js";
import { timerMs } from "../util/timer-ms.js";
import { type ClientIdentity, createEnvelope, type Era, isModernVersion } from "./era.js";
import type { EraVerdict, RememberedEra } from "./era-memory.js";
import { Lane } from "./lane.js";
import { createListWatch } from "./list-watch.js";
import { LOG_LEVEL_META_KEY, setLogLevel } from "./log-level.js";
import { negotiate } from "./negotiate.js";
import { loadSdk } from "./sdk.js";
import { createServerRequests, type ServerRequests } from "./server-requests/server-requests.js";
import { createUrlElicitations } from "./server-requests/url-elicitations.js";
import { createSession, type Session } from "./session.js";

export interface OpenOptions {
  config: ServerConfig;
  context: TransportContext;
  /** Its capabilities must be those of `serverRequests`. */
  identity: ClientIdentity;
  /** Answers what servers ask of the client. @default nothing is answered */
  serverRequests?: ServerRequests | undefined;
  /** Given to the SDK's client. @default one of its own */
  validator?: SchemaValidator | undefined;
  /** Which log messages to ask the server for. @default none: the server chooses, or sends none */
  logLevel?: ((era: Era) => LogLevel | undefined) | undefined;
  /** What is known about the server's era. */
  remembered?: RememberedEra | undefined;
  timeoutMs: number;
  silenceMs?: number | undefined;
  signal: AbortSignal;
  tap?: ((direction: "sent" | "received", message: JSONRPCMessage) => void) | undefined;
  /** Takes over the closing of transports that failed, so that nobody waits for them but nothing is forgotten. */
  onDiscarded: (closing: Promise<void>) => void;
}

export interface OpenedSession {
  session: Session;
  /** The era, if it may be remembered. */
  verdict: EraVerdict | undefined;
}

/** One way to reach a server. */
interface Attempt {
  config: ServerConfig;
  remembered: RememberedEra | undefined;
  /** Whether this attempt makes sense after the error of the one before. */
  after?: (error: ToolportError) => boolean;
}

/** Opens a session, trying what the configuration allows. Rejects with one error that names all attempts. */
export async function openSession(given: OpenOptions): Promise<OpenedSession> {
  const options = { ...given, identity: identityFor(given) };
  const errors: ToolportError[] = [];
  for (const attempt of attempts(options)) {
    const last = errors.at(-1);
    if (last !== undefined && !attempt.after?.(last)) continue;
    try {
      return await open({ ...options, config: attempt.config, remembered: attempt.remembered });
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      errors.push(error as ToolportError);
    }
  }
  throw summary(options.config, errors);
}

/** What is told to this server alone: its entry may promise more than the port does. */
function identityFor({ config, identity }: OpenOptions): ClientIdentity {
  const more = config.clientOptions?.reveal().capabilities;
  if (more === undefined) return identity;
  return { ...identity, capabilities: { ...identity.capabilities, ...more } };
}

function* attempts({ config, remembered }: OpenOptions): Generator<Attempt> {
  const pinned = config.protocol;
  const legacy: RememberedEra = { era: "legacy", at: 0 };
  if (config.kind === "http") {
    const overSse = config.sseFallback && !isModernPin(pinned);
    const known = overSse && remembered?.era === "legacy" && remembered.via === "sse";
    if (known) yield { config: asSse(config), remembered: legacy };
    yield { config, remembered: known ? undefined : remembered, after: isOtherTransport };
    if (overSse && !known) yield { config: asSse(config), remembered: legacy, after: isOtherTransport };
  } else if (config.kind === "sse") {
    yield { config, remembered: legacy };
  } else {
    yield { config, remembered };
    // Some servers end at a request they do not know. They get a second life that starts with `initialize`.
    if (remembered === undefined && pinned === "auto")
      yield { config, remembered: legacy, after: endedOnProbe };
  }
}

const isModernPin = (protocol: ServerConfig["protocol"]): boolean =>
  typeof protocol === "object" && isModernVersion(protocol.pin);

const asSse = ({ sseFallback: _, kind: __, ...rest }: HttpConfig): SseConfig => ({ ...rest, kind: "sse" });

/** 400, 404 and 405 mean "not this transport", unless the body shows that an MCP server said it. */
function isOtherTransport(error: ToolportError): boolean {
  if (!(error instanceof ConnectionError) || error.code !== "HTTP_STATUS") return false;
  if (![400, 404, 405].includes(error.status ?? 0)) return false;
  const text = (error.cause as { data?: { text?: unknown } } | undefined)?.data?.text;
  if (typeof text !== "string") return true;
  try {
    return (JSON.parse(text) as { jsonrpc?: unknown } | null)?.jsonrpc !== "2.0";
  } catch {
    return true;
  }
}

/** It started, and then ended (or went deaf) before its first answer. */
function endedOnProbe(error: ToolportError): boolean {
  if (!(error instanceof ConnectionError)) return false;
  if (error.code === "CONNECT_TIMEOUT") return false;
  return error.errno === undefined && (error.code === "SPAWN_FAILED" || error.code === "CLOSED");
}

function summary(config: ServerConfig, errors: readonly ToolportError[]): ToolportError {
  const last = errors.at(-1)!;
  if (errors.length === 1 || config.kind !== "http") return last;
  return new ConnectionError({
    code: "UNREACHABLE",
    server: config.name,
    what: `The server speaks neither Streamable HTTP nor HTTP+SSE at this URL: ${errors.map((error) => error.what).join("; ")}`,
    next: "Check the path of the URL",
    retryable: errors.some((error) => error.retryable),
    outcome: "unsent",
    status: errors.find((error) => error instanceof ConnectionError)?.status,
    attempts: errors,
    cause: last,
  });
}

async function open(options: OpenOptions): Promise<OpenedSession> {
  const { config, context, signal, tap, onDiscarded } = options;
  let transport: ServerTransport | undefined;
  let lane: Lane | undefined;
  const discard = () => {
    if (transport !== undefined) onDiscarded(transport.close().catch(() => {}));
  };
  signal.addEventListener("abort", discard, { once: true });
  try {
    transport = await createTransport(config, context);
    lane = new Lane(transport, config.name);
    lane.tap = tap;
    const opened = await connectClient(lane, transport, options);
    signal.throwIfAborted();
    return opened;
  } catch (error) {
    // A process that ends is noticed by a broken pipe first, and only then by its exit code and last words.
    if (lane !== undefined && isClosed(error))
      await Promise.race([lane.closed, pause(CLOSING_MS, signal)]).catch(() => {});
    discard();
    throw explain(error, transport, config.name);
  } finally {
    signal.removeEventListener("abort", discard);
  }
}

const CLOSING_MS = 1_000;

const isClosed = (error: unknown): boolean => error instanceof ConnectionError && error.code === "CLOSED";

/** What the transport knows about its own end says more than "closed". */
function explain(error: unknown, transport: ServerTransport | undefined, server: string): ToolportError {
  const converted = toToolportError(error, { server, phase: "connect" });
  const known = transport?.closeError;
  return known !== undefined && ["CLOSED", "HANDSHAKE_FAILED", "UNEXPECTED"].includes(converted.code)
    ? known
    : converted;
}

async function connectClient(
  lane: Lane,
  transport: ServerTransport,
  options: OpenOptions,
): Promise<OpenedSession> {
  const { config, identity, remembered, serverRequests = noServerRequests } = options;
  const client = await createClient(options);
  // Before the handshake: a server may ask as soon as it is done.
  const { desk, opened } = serverRequests.attach(client, config.name);
  const watch = createListWatch(client);
  const urlElicitations = createUrlElicitations(client, desk);
  // What the SDK reports here it also throws, or it concerns a single message; neither may end up on the console.
  client.onerror = () => {};
  // Given up meanwhile: nothing may be started that nobody waits for.
  options.signal.throwIfAborted();
  const sure = await handshake({ client, lane, transport, options });
  const era = client.getProtocolEra() ?? "legacy";
  const discover = client.getDiscoverResult() as Record<string, unknown> | undefined;
  const logLevel = options.logLevel?.(era);
  if (era === "modern") {
    lane.envelope = createEnvelope(client.getNegotiatedProtocolVersion()!, identity);
    if (logLevel !== undefined) lane.metaDefaults = { [LOG_LEVEL_META_KEY]: logLevel };
  } else {
    lane.lastSignAt = desk.lastOwedAt;
    if (logLevel !== undefined) setLogLevel(lane, client.getServerCapabilities(), logLevel);
  }
  watch.keepListening();
  opened(lane.closed);
  const session = createSession({
    server: config.name,
    transport: config.kind,
    client,
    lane,
    watch,
    desk,
    urlElicitations,
    unproven: remembered?.era === "modern",
    endSession: () => transport.endSession?.() ?? Promise.resolve(),
  });
  if (!sure) return { session, verdict: undefined };
  if (era === "modern") return { session, verdict: discover && { era, discover } };
  return { session, verdict: config.kind === "sse" ? { era, via: "sse" } : { era } };
}

/** Nothing is advertised, so nothing should be asked; who asks all the same gets an error that says what is missing. */
const noServerRequests = createServerRequests({ report() {} });

async function createClient({ config, identity, validator }: OpenOptions): Promise<Client> {
  const { protocol } = config;
  // Its handlers of changed lists would take the place of ours, and the port would never hear of a change.
  const { listChanged: _, ...given } = config.clientOptions?.reveal() ?? {};
  const [{ Client }, jsonSchemaValidator] = await Promise.all([
    loadSdk(),
    // The SDK's own validator compiles code and can be frozen by a hostile pattern.
    given.jsonSchemaValidator ?? createSdkValidator(validator ?? createSchemaValidator()),
  ]);
  const clientOptions: ClientOptions = {
    ...given,
    capabilities: identity.capabilities,
    jsonSchemaValidator,
    versionNegotiation: { mode: protocol },
    ...(typeof protocol === "object" && !isModernVersion(protocol.pin) && legacyPin(protocol.pin)),
  };
  return new Client(identity.clientInfo, clientOptions);
}

const legacyPin = (version: string): ClientOptions => ({
  versionNegotiation: { mode: "legacy" },
  supportedProtocolVersions: [version],
});

/** Connects the client; false when the era it found rests on silence only. */
async function handshake(parts: {
  client: Client;
  lane: Lane;
  transport: ServerTransport;
  options: OpenOptions;
}): Promise<boolean> {
  const { client, lane, options } = parts;
  const { config, remembered, timeoutMs, signal } = options;
  // The SDK hands its limits to a timer as they are: one that does not fit would run out at once.
  const limit = timerMs(timeoutMs);
  const request = { timeout: limit, maxTotalTimeout: limit, signal };
  if (remembered?.era === "modern") {
    await client.connect(lane, {
      ...request,
      prior: { kind: "modern", discover: remembered.discover as DiscoverResult },
    });
    return true;
  }
  if (remembered?.era === "legacy") {
    await client.connect(lane, { ...request, prior: { kind: "legacy" } });
    return true;
  }
  if (
    config.kind === "http" ||
    config.protocol === "legacy" ||
    (typeof config.protocol === "object" && !isModernPin(config.protocol))
  ) {
    await client.connect(lane, request);
    return true;
  }
  await lane.start();
  const verdict = await negotiate(lane, {
    server: config.name,
    identity: options.identity,
    timeoutMs,
    silenceMs: options.silenceMs,
    signal,
  });
  if (verdict.era === "modern") {
    await client.connect(lane, {
      ...request,
      prior: { kind: "modern", discover: verdict.discover as DiscoverResult },
    });
    return true;
  }
  if (isModernPin(config.protocol)) {
    throw new ConnectionError({
      code: "HANDSHAKE_FAILED",
      server: config.name,
      what: `The server does not speak ${(config.protocol as { pin: string }).pin}`,
      next: 'Remove `protocol`, or set it to "auto"',
    });
  }
  lane.initializeResult = verdict.initializeResult;
  await client.connect(lane, { ...request, prior: { kind: "legacy" } });
  return verdict.sure;
}
