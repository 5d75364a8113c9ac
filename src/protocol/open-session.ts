/** From a server's configuration to a live session: transports in turn, eras in turn, one error in the end. */

import type { JSONRPCMessage, ServerCapabilities } from "@modelcontextprotocol/client";
import { secretsOf, shareSecrets } from "../config/known-secrets.js";
import type { HttpConfig, ServerConfig, SseConfig } from "../config/server-config.js";
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { LogLevel } from "../model/log-levels.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import { createTransport } from "../transports/create-transport.js";
import type { ServerTransport, TransportContext } from "../transports/server-transport.js";
import { pause } from "../util/sleep.js";
import { withDeadline } from "../util/with-deadline.js";
import { createListWatch } from "./change-watch.js";
import type { OddSource } from "./channel-errors.js";
import { type ClientIdentity, createEnvelope, type Era } from "./era.js";
import type { EraVerdict, RememberedEra, SsePath } from "./era-memory.js";
import { type Handshake, handshake, isModernPin } from "./handshake.js";
import { createLateClient } from "./lazy-client.js";
import { Lane } from "./request-channel.js";
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
  /** Sees every message. Calls cost more with it, so it is for those who really look. */
  tap?: ((direction: "sent" | "received", message: JSONRPCMessage) => void) | undefined;
  /** Told what the server tells by itself, progress apart. */
  onNotification?: ((method: string, params: Readonly<Record<string, unknown>>) => void) | undefined;
  /** Told of what the server sends that is no message; once for each kind of it. */
  onOddity?: ((error: ConnectionError, source: OddSource) => void) | undefined;
  /** Takes over the closing of transports that failed, so that nobody waits for them but nothing is forgotten. */
  onDiscarded: (closing: Promise<void>) => void;
}

export interface OpenedSession {
  session: Session;
  /** The era, if it may be remembered. */
  verdict: EraVerdict | undefined;
  /** Where the session was opened, if it is a fallback from Streamable HTTP to HTTP+SSE. */
  via: SsePath | undefined;
}

/** One way to reach a server. */
interface Attempt {
  config: ServerConfig;
  remembered: RememberedEra | undefined;
  via?: SsePath;
  /** Whether this attempt makes sense after the error of the one before. */
  after?: (error: ToolportError) => boolean;
}

/** Opens a session, trying what the configuration allows. Rejects with one error that names all attempts. */
export async function openSession(given: OpenOptions): Promise<OpenedSession> {
  const options = { ...given, identity: identityFor(given) };
  const errors: ToolportError[] = [];
  for (const attempt of attempts(options)) {
    const last = errors.at(-1);
    if (last !== undefined && !attempt.after?.(last)) break;
    const { config, remembered, via } = attempt;
    try {
      const { session, verdict } = await open({ ...options, config, remembered });
      return { session, verdict: verdict?.era === "legacy" && via ? { ...verdict, via } : verdict, via };
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      errors.push(secretsOf(options.config).redactError(error as ToolportError));
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
    const fallbacks = config.sseFallback && !isModernPin(pinned) ? [...sseFallbacks(config)] : [];
    const known = fallbacks.find(({ via }) => remembered?.era === "legacy" && via === remembered.via);
    if (known !== undefined) yield { ...known, remembered: legacy };
    yield { config, remembered: known ? undefined : remembered, after: isOtherTransport };
    for (const fallback of fallbacks) {
      const after = fallback.via === "sse" ? isOtherTransport : isNoEventStream;
      if (fallback !== known) yield { ...fallback, remembered: legacy, after };
    }
  } else if (config.kind === "sse") {
    yield { config, remembered: legacy };
  } else {
    yield { config, remembered };
    // Some servers end at a request they do not know. They get a second life that starts with `initialize`.
    if (remembered === undefined && pinned === "auto")
      yield { config, remembered: legacy, after: endedOnProbe };
  }
}

/** HTTP+SSE at the same URL; then, for a URL that ends in `/mcp`, at `/sse` beside it, where such servers have their stream. */
function* sseFallbacks(config: HttpConfig): Generator<{ config: SseConfig; via: SsePath }> {
  const { sseFallback: _, kind: __, ...rest } = config;
  yield { config: shareSecrets(config, { ...rest, kind: "sse" }), via: "sse" };
  const url = new URL(config.url);
  const sibling = url.pathname.replace(/\/mcp(\/?)$/, "/sse$1");
  if (sibling === url.pathname) return;
  url.pathname = sibling;
  yield { config: shareSecrets(config, { ...rest, kind: "sse", url: url.href }), via: "sibling-sse" };
}

/** Statuses that are about credentials or load, and say nothing about the transport. */
const NOT_ABOUT_TRANSPORT = new Set([401, 402, 403, 407, 408, 421, 425, 429]);

/** Any other 4xx means "not this transport", unless the body shows that an MCP server sent it. */
function isOtherTransport(error: ToolportError): boolean {
  if (!(error instanceof ConnectionError)) return false;
  const { status = 0 } = error;
  if (error.code !== "HTTP_STATUS" || status < 400 || status > 499 || NOT_ABOUT_TRANSPORT.has(status))
    return false;
  const text = (error.cause as { data?: { text?: unknown } } | undefined)?.data?.text;
  if (typeof text !== "string") return true;
  try {
    return (JSON.parse(text) as { jsonrpc?: unknown } | null)?.jsonrpc !== "2.0";
  } catch {
    return true;
  }
}

/** The same, or a web page for example where an event stream was asked for. */
const isNoEventStream = (error: ToolportError): boolean =>
  isOtherTransport(error) || error.code === "BAD_RESPONSE";

/** It started, and then ended (or went deaf) before its first answer. */
function endedOnProbe(error: ToolportError): boolean {
  if (!(error instanceof ConnectionError)) return false;
  if (error.code === "CONNECT_TIMEOUT") return false;
  return error.errno === undefined && (error.code === "SPAWN_FAILED" || error.code === "CLOSED");
}

function summary(config: ServerConfig, errors: readonly ToolportError[]): ToolportError {
  const last = errors.at(-1)!;
  // Credentials are all that is missing: the caller has to see that.
  if (errors.length === 1 || config.kind !== "http" || last instanceof AuthError) return last;
  return new ConnectionError({
    code: "UNREACHABLE",
    server: config.name,
    what: `The server speaks neither Streamable HTTP nor HTTP+SSE at this URL: ${errors.map((error) => error.what).join("; ")}`,
    next: `Check the path of the URL${errors.length > 2 ? "; /sse beside it was tried as well" : ""}`,
    retryable: errors.some((error) => error.retryable),
    outcome: "unsent",
    status: errors.find((error) => error instanceof ConnectionError)?.status,
    attempts: errors,
    cause: last,
  });
}

type Opened = Omit<OpenedSession, "via">;

async function open(options: OpenOptions): Promise<Opened> {
  const { config, context, signal, tap, onNotification, onDiscarded } = options;
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
    if (onNotification !== undefined) lane.hearers.add(onNotification);
    lane.onoddity = options.onOddity;
    lane.secrets = secretsOf(config);
    const opened = await connect(lane, transport, options);
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

async function connect(lane: Lane, transport: ServerTransport, options: OpenOptions): Promise<Opened> {
  const { config, identity, remembered, validator, serverRequests = noServerRequests } = options;
  // Before the handshake: a server may speak as soon as it is done.
  const requests = serverRequests.attach(lane, config.name);
  const watch = createListWatch(lane);
  const urlElicitations = createUrlElicitations(lane, requests.desk);
  // Given up meanwhile: nothing may be started that nobody waits for.
  options.signal.throwIfAborted();
  const greeted = await handshake(lane, options);
  const { era, protocolVersion, capabilities } = greeted;
  const client = createLateClient({
    lane,
    config,
    identity,
    handshake: greeted,
    validator,
    prepare: (made) => requests.serve(made),
  });
  const logLevel = options.logLevel?.(era);
  if (era === "modern") {
    lane.envelope = createEnvelope(protocolVersion, identity);
    if (logLevel !== undefined) lane.metaDefaults = { [LOG_LEVEL_META_KEY]: logLevel };
    await forAWhile(watch.keepListening({ capabilities, client: client.get }), options.signal);
  } else {
    lane.lastSignAt = requests.desk.lastOwedAt;
    // Whoever may be asked is there before anything can be: a server may wait no longer than a moment for its answer. Without
    // a client the server gets none, and everything else goes on.
    if (Object.keys(serverRequests.capabilities).length > 0) await forAWhile(client.get(), options.signal);
    if (logLevel !== undefined) setLogLevel(lane, capabilities, logLevel);
    requests.opened();
  }
  if (!config.reconnect.enabled) lane.nextAfterLoss = reconnectYourself(config);
  const session = createSession({
    transport: config.kind,
    server: config.name,
    handshake: greeted,
    client,
    lane,
    watch,
    desk: requests.desk,
    urlElicitations,
    unproven: remembered?.era === "modern",
    endSession: () => transport.endSession?.() ?? Promise.resolve(),
  });
  return { session, verdict: greeted.sure ? verdictOf(greeted) : undefined };
}

const reconnectYourself = ({ kind }: ServerConfig): string =>
  `It stays away because ${kind === "stdio" || kind === "docker" ? "restart" : "reconnect"}.enabled is false: connect it again yourself`;

/** A handshake that is good enough for us may not be for the SDK's client, and it does not always say so. */
const CLIENT_MS = 2_000;

async function forAWhile(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const onTimeout = () => new Error("The SDK's client is not there yet");
  await withDeadline(work, { timeoutMs: CLIENT_MS, signal, onTimeout }).catch(() => {});
}

const verdictOf = ({ era, answer }: Handshake): EraVerdict =>
  era === "modern" ? { era, discover: answer } : { era };

/** Nothing is advertised, so nothing should be asked; who asks all the same gets an error that says what is missing. */
const noServerRequests = createServerRequests({ report() {} });

const SET_LEVEL_MS = 10_000;

/** Key of the envelope under which modern servers are told. */
export const LOG_LEVEL_META_KEY = "io.modelcontextprotocol/logLevel";

/** Tells a legacy server which messages are wanted. If it cannot be told, the messages stay away, and nothing else. */
export function setLogLevel(lane: Lane, capabilities: ServerCapabilities | undefined, level: LogLevel): void {
  if (capabilities?.logging === undefined) return;
  const limits = { timeoutMs: SET_LEVEL_MS, maxTimeoutMs: SET_LEVEL_MS };
  lane.request("logging/setLevel", { level }, limits).catch(() => {});
}
