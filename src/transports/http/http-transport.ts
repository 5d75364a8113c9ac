/** Streamable HTTP: the SDK's transport over our network client, with limits, typed failures and streams that come back. */
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  StreamableHTTPClientTransport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { HttpConfig } from "../../config/server-config.js";
import { ConnectionError } from "../../errors/connection-error.js";
import type { ToolportError } from "../../errors/toolport-error.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import { createEndpointFetch, REQUEST_KEY_HEADER } from "./endpoint-fetch.js";
import { EndpointStreams } from "./endpoint-stream.js";
import { createGuardedFetch } from "./guarded-fetch.js";
import { ReconnectTimers } from "./reconnect-timers.js";
import { type OpenRequest, RequestLedger } from "./request-ledger.js";
import { shareAuthorization } from "./shared-authorization.js";
import { openWith } from "./wire.js";

const PROTOCOL_VERSION_META = "io.modelcontextprotocol/protocolVersion";
const END_SESSION_MS = 1_000;

/** A transport for one Streamable HTTP server. Nothing is sent before the first message. */
export async function createHttpTransport(
  config: HttpConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return new HttpTransport(config, context, StreamableHTTPClientTransport);
}

class HttpTransport implements ServerTransport {
  readonly kind = "http";
  readonly hasPerRequestStream = true;
  readonly closeError: ToolportError | undefined;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];
  onstreamcut?: ServerTransport["onstreamcut"];
  onsessionlost?: ServerTransport["onsessionlost"];

  readonly #inner: StreamableHTTPClientTransport;
  readonly #ledger: RequestLedger;
  readonly #timers: ReconnectTimers;
  #closing: Promise<void> | undefined;

  constructor(config: HttpConfig, context: TransportContext, Inner: typeof StreamableHTTPClientTransport) {
    const url = new URL(config.url);
    this.#ledger = new RequestLedger((id, error) => this.onstreamcut?.(id, error));
    const guarded = createGuardedFetch(context.http, { serverUrl: url });
    const endpoint = {
      url,
      headers: config.headers,
      maxMessageBytes: context.maxMessageBytes,
      open: openWith(context.http),
      guarded,
      withAuthorization:
        context.authorize?.(config.name) ??
        shareAuthorization({ provider: config.authProvider, serverUrl: url, fetch: guarded }),
      ledger: this.#ledger,
      onDiscard: (discarded: Parameters<NonNullable<ServerTransport["ondiscard"]>>[0]) =>
        this.ondiscard?.(discarded),
      onSessionLost: (error: ConnectionError) => this.onsessionlost?.(error),
    };
    const streams = new EndpointStreams(endpoint);
    this.#timers = new ReconnectTimers({ ledger: this.#ledger, idleEnds: () => streams.idleEnds });
    this.#inner = new Inner(url, {
      fetch: createEndpointFetch(endpoint, streams),
      ...(config.authProvider === undefined ? {} : { authProvider: config.authProvider }),
      reconnectionScheduler: this.#timers.schedule,
      // Our scheduler decides when enough is enough.
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        reconnectionDelayGrowFactor: 1.6,
        maxReconnectionDelay: 60_000,
        maxRetries: Number.POSITIVE_INFINITY,
      },
    });
    this.#inner.onmessage = (message: JSONRPCMessage) => this.#receive(message);
    this.#inner.onerror = (error) => {
      if (this.#closing === undefined) this.onerror?.(error);
    };
    this.#inner.onclose = () => this.onclose?.();
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#closing !== undefined) throw closed("unsent");
    try {
      if ("method" in message && "id" in message) await this.#request(message, options);
      else {
        if ("method" in message && message.method === "notifications/cancelled")
          this.#cancelled(message.params);
        await this.#inner.send(message, sendOptions(options));
      }
    } catch (error) {
      // close() ends what is in flight by an abort of the SDK's own, which would mean nothing to the caller.
      if (this.#closing !== undefined && options?.requestSignal?.aborted !== true)
        throw closed("unknown", error);
      throw error;
    }
  }

  async endSession(): Promise<void> {
    if (this.#inner.sessionId === undefined || this.#closing !== undefined) return;
    const ended = this.#inner.terminateSession();
    await withDeadline(ended, { timeoutMs: END_SESSION_MS, onTimeout: () => closed("unknown") }).catch(
      () => {},
    );
    ended.catch(() => {});
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #shut(): Promise<void> {
    // Set before anything of the SDK's runs: what it reports from here on is the sound of closing.
    await undefined;
    this.#timers.clear();
    this.#ledger.clear();
    await this.#inner.close();
  }

  async #request(
    message: JSONRPCMessage & { id: string | number },
    options?: TransportSendOptions,
  ): Promise<void> {
    const own = this.#ledger.add(message.id, isModern(message));
    const signal = options?.requestSignal;
    const onAbort = () => this.#ledger.forget(own.id);
    signal?.addEventListener("abort", onAbort);
    own.release = () => signal?.removeEventListener("abort", onAbort);
    try {
      await this.#inner.send(message, this.#requestOptions(own, options));
    } catch (error) {
      this.#ledger.settle(own.id);
      throw error;
    }
  }

  #requestOptions(own: OpenRequest, options: TransportSendOptions | undefined) {
    if (options?.resumptionToken !== undefined) {
      own.token = options.resumptionToken;
      own.streamEnded = true;
    }
    const ownNames = Object.entries(options?.headers ?? {});
    own.authorization = ownNames.find(([name]) => name.toLowerCase() === "authorization")?.[1];
    return {
      ...sendOptions(options),
      headers: { ...options?.headers, [REQUEST_KEY_HEADER]: own.key },
      onresumptiontoken: (token: string) => {
        own.token = token;
        options?.onresumptiontoken?.(token);
      },
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.();
        this.#ledger.cut(own);
      },
    };
  }

  #receive(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) this.#ledger.settle(message.id);
    this.onmessage?.(message);
  }

  #cancelled(params: unknown): void {
    const { requestId } = (params ?? {}) as { requestId?: unknown };
    if (typeof requestId === "string" || typeof requestId === "number") this.#ledger.forget(requestId);
  }
}

function isModern(message: JSONRPCMessage): boolean {
  const { params } = message as { params?: { _meta?: Record<string, unknown> } };
  return typeof params?._meta?.[PROTOCOL_VERSION_META] === "string";
}

/** Without members that are there but undefined: the SDK's type does not take them. */
function sendOptions(options: TransportSendOptions | undefined) {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Parameters<StreamableHTTPClientTransport["send"]>[1] & {};
}

function closed(outcome: "unsent" | "unknown", cause?: unknown): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    what: "The connection is closed",
    retryable: true,
    outcome,
    cause,
  });
}
