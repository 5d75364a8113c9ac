/** Opens a session from a server's configuration: tries transports and eras in turn and throws one error that names all attempts. */

import type { ServerCapabilities } from "@modelcontextprotocol/client";
import {
  AuthError,
  ConnectionError,
  type LogLevel,
  pause,
  type ToolportError,
  toToolportError,
  withDeadline,
} from "@toolport/base";
import type { SchemaValidator } from "@toolport/schemas/internal";
import { secretsOf, shareSecrets } from "../config/known-secrets.js";
import type { HttpConfig, MessageTap, ServerConfig, SseConfig } from "../config/server-config.js";
import { createTransport } from "../transports/create-transport.js";
import type { ServerTransport, TransportContext } from "../transports/server-transport.js";
import { ChangeWatch } from "./change-watch.js";
import {
  type ClientIdentity,
  createEnvelope,
  type Era,
  type EraVerdict,
  LOG_LEVEL_META_KEY,
  type RememberedEra,
  type SsePath,
} from "./era.js";
import { createLazyClient, handshake, isModernPin } from "./handshake.js";
import { type InvalidMessageSource, type LiveTap, RequestChannel } from "./request-channel.js";
import { createServerRequests, type ServerRequests } from "./server-requests/server-requests.js";
import { createUrlElicitations } from "./server-requests/url-elicitations.js";
import { Session } from "./session.js";

export interface OpenOptions {
  config: ServerConfig;
  context: TransportContext;
  /** Its capabilities must match `serverRequests`. */
  identity: ClientIdentity;
  /** Handles requests of the server. @default none are handled */
  serverRequests?: ServerRequests | undefined;
  /** Passed to the SDK's client. @default a new validator */
  validator?: SchemaValidator | undefined;
  /** Minimum level of the server's log messages. @default the server chooses (legacy) or sends none (modern) */
  logLevel?: ((era: Era) => LogLevel | undefined) | undefined;
  /** The era of an earlier connection. */
  remembered?: RememberedEra | undefined;
  /** False: changes of lists are received only after `session.listen()`. @default true */
  listens?: boolean | undefined;
  timeoutMs: number;
  /** Whether a server that ended at the probe of its era may be started again. @default yes */
  mayStartAgain?: (() => boolean) | undefined;
  /** How long a server over stdio may stay silent before the client also sends `initialize`. */
  silenceMs?: number | undefined;
  signal: AbortSignal;
  /** Observes every message. Calls are slower with it. */
  tap?: MessageTap | undefined;
  /** A further tap, for as long as something observes the port. */
  liveTap?: LiveTap | undefined;
  /** Receives every notification except progress. */
  onNotification?: ((method: string, params: Readonly<Record<string, unknown>>) => void) | undefined;
  /** Receives invalid messages, once per kind. */
  onInvalidMessage?: ((error: ConnectionError, source: InvalidMessageSource) => void) | undefined;
  /** Receives the promise of closing a failed transport. `openSession` does not wait for it. */
  onDiscarded: (closing: Promise<void>) => void;
}

interface OpenedSession {
  session: Session;
  /** The era, if it should be remembered. */
  verdict: EraVerdict | undefined;
  /** Set if the session fell back from Streamable HTTP to HTTP+SSE. */
  via: SsePath | undefined;
}

/** One transport to try. */
interface Attempt {
  config: ServerConfig;
  remembered: RememberedEra | undefined;
  via?: SsePath;
  /** Whether to make this attempt after the error of the previous one. */
  after?: (error: ToolportError) => boolean;
}

export async function openSession(given: OpenOptions): Promise<OpenedSession> {
  const { capabilities } = given.identity;
  // With those of the server's own `clientOptions`.
  const more = given.config.clientOptions?.reveal().capabilities;
  const options = { ...given, identity: { ...given.identity, capabilities: { ...capabilities, ...more } } };
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

function* attempts({ config, remembered, mayStartAgain }: OpenOptions): Generator<Attempt> {
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
    // Some servers exit on an unknown request: start them again with `initialize`.
    if (remembered === undefined && pinned === "auto")
      yield {
        config,
        remembered: legacy,
        after: (error) => endedOnProbe(error) && mayStartAgain?.() !== false,
      };
  }
}

/** HTTP+SSE at the same URL; then, for a URL that ends in `/mcp`, at `/sse` beside it, the usual path of such servers. */
function* sseFallbacks(config: HttpConfig): Generator<{ config: SseConfig; via: SsePath }> {
  const { sseFallback: _, kind: __, ...rest } = config;
  yield { config: shareSecrets(config, { ...rest, kind: "sse" }), via: "sse" };
  const url = new URL(config.url);
  const sibling = url.pathname.replace(/\/mcp(\/?)$/, "/sse$1");
  if (sibling === url.pathname) return;
  url.pathname = sibling;
  yield { config: shareSecrets(config, { ...rest, kind: "sse", url: url.href }), via: "sibling-sse" };
}

/** Statuses about credentials or load, not about the transport. */
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

/** The same, or a response that is not an event stream, such as a web page. */
const isNoEventStream = (error: ToolportError): boolean =>
  isOtherTransport(error) || error.code === "BAD_RESPONSE";

/** The process started, then exited or closed its output before its first response. */
function endedOnProbe(error: ToolportError): boolean {
  if (!(error instanceof ConnectionError)) return false;
  if (error.code === "CONNECT_TIMEOUT") return false;
  return error.errno === undefined && (error.code === "SPAWN_FAILED" || error.code === "CLOSED");
}

function summary(config: ServerConfig, errors: readonly ToolportError[]): ToolportError {
  const last = errors.at(-1)!;
  // The caller must see an error about missing credentials unchanged.
  if (errors.length === 1 || config.kind !== "http" || last instanceof AuthError) return last;
  return new ConnectionError({
    code: "UNREACHABLE",
    server: config.name,
    what: `The server supports neither Streamable HTTP nor HTTP+SSE at this URL: ${errors.map((error) => error.what).join("; ")}`,
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
  let channel: RequestChannel | undefined;
  const discard = () => {
    if (transport !== undefined) onDiscarded(transport.close().catch(() => {}));
  };
  signal.addEventListener("abort", discard, { once: true });
  try {
    transport = await createTransport(config, { ...context, listensAtOnce: options.listens });
    channel = new RequestChannel(transport, config.name);
    channel.tap = tap;
    channel.liveTap = options.liveTap;
    if (onNotification !== undefined) channel.notificationListeners.add(onNotification);
    channel.oninvalidmessage = options.onInvalidMessage;
    channel.secrets = secretsOf(config);
    const opened = await startSession(channel, transport, options);
    signal.throwIfAborted();
    return opened;
  } catch (error) {
    // A broken pipe is seen before the exit of its process: wait for the exit code and the last lines of stderr.
    if (channel !== undefined && error instanceof ConnectionError && error.code === "CLOSED")
      await Promise.race([channel.closed, pause(CLOSING_MS, signal)]).catch(() => {});
    discard();
    const converted = toToolportError(error, { server: config.name, phase: "connect" });
    // The transport's own close error is more specific than "closed".
    const isVague = ["CLOSED", "HANDSHAKE_FAILED", "UNEXPECTED"].includes(converted.code);
    throw (isVague ? transport?.closeError : undefined) ?? converted;
  } finally {
    signal.removeEventListener("abort", discard);
  }
}

const CLOSING_MS = 1_000;

/** Makes the handshake. What must not miss a message of the server is attached to the channel before. */
async function startSession(
  channel: RequestChannel,
  transport: ServerTransport,
  options: OpenOptions,
): Promise<Opened> {
  const { config, identity, remembered, validator, serverRequests = noServerRequests } = options;
  // Attach before the handshake: the server may send messages as soon as it is complete.
  const requests = serverRequests.attach(channel, config.name);
  const watch = new ChangeWatch(channel);
  transport.onstream = (state) => watch.streamChanged(state);
  // Without it, the subscription of an aborted attempt to connect would be tried again for good.
  void channel.closed.then(() => watch.close());
  const urlElicitations = createUrlElicitations(channel, requests.responder);
  // Do not start a process for a connection that was aborted in the meantime.
  options.signal.throwIfAborted();
  const done = await handshake(channel, options);
  const { era, protocolVersion, capabilities } = done;
  const client = createLazyClient({
    channel,
    config,
    identity,
    handshake: done,
    validator,
    prepare: (created) => requests.serve(created),
  });
  const logLevel = options.logLevel?.(era);
  watch.server = { capabilities, client: client.get };
  if (era === "modern") {
    channel.envelope = createEnvelope(protocolVersion, identity);
    if (logLevel !== undefined) channel.metaDefaults = { [LOG_LEVEL_META_KEY]: logLevel };
    if (options.listens !== false) await waitBriefly(watch.keepListening(), options.signal);
  } else {
    // Without a stream of its own, the connection reports changes from the beginning.
    if (transport.listen === undefined) watch.streamChanged("open");
    else if (options.listens !== false && canChange(capabilities)) await watch.streamSettled();
    if (requests.isServing) channel.lastActivityAt = requests.responder.serverLastWaitedAt;
    // Load the client before the server can send a request: some servers wait only briefly for the response. If it fails,
    // only the requests of the server stay unanswered.
    if (Object.keys(serverRequests.capabilities).length > 0 && requests.calls === undefined)
      await waitBriefly(client.get(), options.signal);
    if (logLevel !== undefined) setLogLevel(channel, capabilities, logLevel);
    requests.opened();
  }
  if (!config.reconnect.enabled) {
    const option = config.kind === "stdio" || config.kind === "docker" ? "restart" : "reconnect";
    channel.adviceAfterLoss = `Toolport does not reconnect because ${option}.enabled is false. Call connectServer to connect again`;
  }
  const session = new Session({
    transport: config.kind,
    server: config.name,
    handshake: done,
    client,
    channel,
    watch,
    responder: requests.responder,
    tracksCalls: requests.isServing,
    asksUser: serverRequests.capabilities.elicitation !== undefined,
    urlElicitations,
    calls: requests.calls,
    unproven: remembered?.era === "modern",
    openStream: () => transport.listen?.() ?? (() => {}),
    endSession: () => transport.endSession?.() ?? Promise.resolve(),
  });
  const verdict: EraVerdict = era === "modern" ? { era, discover: done.result } : { era };
  return { session, verdict: done.isCertain ? verdict : undefined };
}

const canChange = ({ tools, resources, prompts }: ServerCapabilities): boolean =>
  [tools, resources, prompts].some((list) => list?.listChanged === true);

/** The SDK's client may reject a handshake result that Toolport accepts, and then hang. */
const CLIENT_MS = 2_000;

async function waitBriefly(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const onTimeout = () => new Error("The SDK's client is not connected yet");
  await withDeadline(work, { timeoutMs: CLIENT_MS, signal, onTimeout }).catch(() => {});
}

/** Advertises nothing. A server that requests something anyway gets an error that names the missing option. */
const noServerRequests = createServerRequests({ report() {} });

const SET_LEVEL_MS = 10_000;

/** Sets the log level of a legacy server. Ignores failures: only log messages would be missing. */
function setLogLevel(
  channel: RequestChannel,
  capabilities: ServerCapabilities | undefined,
  level: LogLevel,
): void {
  if (capabilities?.logging === undefined) return;
  const limits = { timeoutMs: SET_LEVEL_MS, maxTimeoutMs: SET_LEVEL_MS };
  channel.request("logging/setLevel", { level }, limits).catch(() => {});
}
