/** Legacy HTTP+SSE: the SDK's transport over our network client. It closes when its stream ends instead of reconnecting. */

import type * as Sdk from "@modelcontextprotocol/client";
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  SSEClientTransport,
  SseError,
} from "@modelcontextprotocol/client";
import { secretsOf } from "../../../config/known-secrets.js";
import type { SseConfig } from "../../../config/server-config.js";
import { ConnectionError, ToolportError } from "../../../errors/toolport-error.js";
import type { Resends } from "../../resends.js";
import type {
  GiveUpReason,
  ServerSendOptions,
  ServerTransport,
  TransportContext,
} from "../../server-transport.js";
import { checkedProvider } from "../credentials/checked-provider.js";
import { isOAuth, shareAuthorization } from "../credentials/provider-authorization.js";
import { dropUnknownLifetimes } from "../credentials/token-lifetime.js";
import type { Exchange } from "../endpoint.js";
import { openWith } from "../network/fetch-client.js";
import { createGuardedFetch } from "../network/guarded-fetch.js";
import { ABANDONED, isAbandoned, NO_RESPONSE } from "../network/wire-client.js";
import { createSseFetch } from "./sse-fetch.js";

/** Creates the transport for one legacy HTTP+SSE server; `start()` opens the event stream and waits for the endpoint. */
export async function createSseTransport(
  config: SseConfig,
  context: TransportContext,
): Promise<ServerTransport> {
  return new SseTransport(config, context, await import("@modelcontextprotocol/client"));
}

class SseTransport implements ServerTransport {
  readonly kind = "sse";
  closeError: ToolportError | undefined;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  ondiscard?: ServerTransport["ondiscard"];

  readonly #inner: SSEClientTransport;
  readonly #posts = new Map<string, Exchange>();
  /** The last request without a waiting caller; there is one at a time. */
  #background: RequestId | undefined;
  readonly #SseError: typeof SseError;
  #started = false;
  #abandonStart: ((error: ConnectionError) => void) | undefined;
  /** The last error of the event stream, more specific than the SDK's. */
  #failure: ToolportError | undefined;
  #closing: Promise<void> | undefined;
  /** The resends left for each request in flight. */
  readonly #resends = new Map<RequestId, Resends>();

  constructor(config: SseConfig, context: TransportContext, sdk: typeof Sdk) {
    const url = new URL(config.url);
    const { authProvider: provider } = config;
    const guarded = dropUnknownLifetimes(createGuardedFetch(context.http, { serverUrl: url }));
    this.#SseError = sdk.SseError;
    this.#inner = new sdk.SSEClientTransport(url, {
      fetch: createSseFetch({
        url,
        headers: config.headers,
        secrets: secretsOf(config),
        hasAuthProvider: provider !== undefined,
        maxMessageBytes: context.maxMessageBytes,
        open: openWith(context.http),
        guarded,
        withAuthorization:
          context.authorize?.(config.name) ??
          shareAuthorization({ provider, serverUrl: url, fetch: guarded }),
        mayResend: (id) => this.#resends.get(id)?.takeHealing() ?? true,
        posts: this.#posts,
        isBackground: (id) => id === this.#background,
        onDiscard: (discarded) => this.ondiscard?.(discarded),
        onStreamEnd: (cause) => {
          this.#failure ??= streamEnded(cause);
        },
        onFailure: (error) => {
          if (ToolportError.isInstance(error)) this.#failure ??= error;
        },
      }),
      ...(provider !== undefined && {
        authProvider: isOAuth(provider)
          ? checkedProvider(provider, { serverUrl: url, fetch: guarded })
          : provider,
      }),
    });
    this.#inner.onmessage = (message: JSONRPCMessage) => this.onmessage?.(message);
    this.#inner.onerror = (error) => this.#onInnerError(error);
    this.#inner.onclose = () => {
      // The SDK closes itself if a later `endpoint` event is not acceptable.
      if (this.#started && this.#closing === undefined) this.#fail();
    };
  }

  async start(): Promise<void> {
    const abandoned = new Promise<never>((_, reject) => {
      this.#abandonStart = reject;
    });
    try {
      await Promise.race([this.#inner.start(), abandoned]);
      this.#started = true;
    } catch (error) {
      this.#stopInner();
      const failure = this.#startError(error);
      // Only the request for the stream was sent.
      throw ToolportError.isInstance(failure) ? failure.withOutcome("unsent") : failure;
    } finally {
      this.#abandonStart = undefined;
    }
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void> {
    if (this.#closing !== undefined) throw closed("unsent");
    const id = "id" in message ? message.id : undefined;
    if (id !== undefined && options?.resends !== undefined) this.#resends.set(id, options.resends);
    if (options?.background && id !== undefined) this.#background = id;
    try {
      await this.#inner.send(message);
    } catch (error) {
      if (isAbandoned(error)) return;
      if (this.#closing !== undefined) throw closed("unknown", error);
      const what = "The server did not accept the message";
      throw isPlain(error) ? new ConnectionError({ code: "HTTP_STATUS", what, cause: error }) : error;
    } finally {
      if (id !== undefined) this.#resends.delete(id);
    }
  }

  /** A request that the server has not accepted would hold its socket until the connection is closed. */
  abandon(id: RequestId, why: GiveUpReason): boolean {
    const post = this.#posts.get(String(id));
    post?.abort(why === "timeout" ? NO_RESPONSE : ABANDONED);
    return post?.isSent === false;
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #shut(): Promise<void> {
    this.#abandonStart?.(closed("unsent"));
    await this.#stopInner();
    this.onclose?.();
  }

  /**
   * The `eventsource` package sets its reconnect timer after it has reported the error; closing in a later microtask
   * clears that timer too.
   */
  async #stopInner(): Promise<void> {
    await undefined;
    await this.#inner.close();
  }

  #onInnerError(error: Error): void {
    if (this.#closing !== undefined || isAbandoned(error)) return;
    const broken = this.#started && error instanceof this.#SseError;
    if (broken) this.#fail();
    else this.onerror?.(error);
  }

  /** Closes, because `eventsource` would reconnect to a session that the server no longer knows. */
  #fail(): void {
    this.closeError = this.#failure ?? streamEnded();
    this.onerror?.(this.closeError);
    this.close().catch(() => {});
  }

  #startError(error: unknown): unknown {
    if (ToolportError.isInstance(error)) return error;
    if (this.#failure !== undefined && (isPlain(error) || error instanceof TypeError)) return this.#failure;
    if (!(error instanceof this.#SseError)) return error;
    return this.#failure ?? unreachable(error);
  }
}

/** A plain `Error`, which the SDK throws if a message or an endpoint is not accepted. */
const isPlain = (error: unknown): boolean =>
  error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;

function unreachable(cause: SseError): ConnectionError {
  const status = cause.code;
  return new ConnectionError({
    code: status === undefined ? "UNREACHABLE" : "HTTP_STATUS",
    what: `The event stream could not be opened${status === undefined ? "" : ` (HTTP ${status})`}`,
    status,
    retryable: status === undefined,
    outcome: "unsent",
    cause,
  });
}

function streamEnded(cause?: unknown): ToolportError {
  if (ToolportError.isInstance(cause) && cause.code === "MESSAGE_TOO_LARGE") return cause;
  return new ConnectionError({
    code: "STREAM_CUT",
    what: "The server's event stream ended",
    next: "A new connection is needed",
    retryable: true,
    cause,
  });
}

function closed(outcome: "unsent" | "unknown", cause?: unknown): ConnectionError {
  const what = "The connection is closed";
  return new ConnectionError({ code: "CLOSED", what, retryable: true, outcome, cause });
}
