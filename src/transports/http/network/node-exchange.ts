/** One request over `node:http`: its response, its body, its abort. */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { ConnectionError } from "../../../errors/connection-error.js";
import { onSharedAbort } from "../../../util/shared-abort.js";
import {
  type Abortable,
  type BodySink,
  NO_RESPONSE,
  type ResponseBody,
  type ResponseHeaders,
  type WireRequest,
  type WireResponse,
} from "./wire-client.js";

/** Response headers over the object that Node provides (lower-case names). */
class LightHeaders implements ResponseHeaders {
  readonly #fields: IncomingHttpHeaders;

  constructor(fields: IncomingHttpHeaders) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name.toLowerCase()];
    return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
  }

  has(name: string): boolean {
    return this.#fields[name.toLowerCase()] !== undefined;
  }

  *[Symbol.iterator](): Iterator<[string, string]> {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (typeof value === "string") yield [name, value];
      else for (const one of value ?? []) yield [name, one];
    }
  }
}

/** The client that an exchange belongs to. */
export interface ExchangeOwner {
  /** Incremented with every socket that becomes idle. */
  readonly idleMark: number;
  /** Called with the response headers. Returns an error if the response does not come from the server. */
  onResponse(request: WireRequest, incoming: IncomingMessage): Error | undefined;
  /** The socket, if there was one, is closed or free. Called once for each exchange that held a slot. */
  onReleased(request: WireRequest): void;
  /** Converts an error of Node; `sent`: whether a byte of the request may have been sent. */
  toError(request: WireRequest, error: unknown, sent: boolean): unknown;
  /** A kept-alive socket was dead; `mark` is the idle mark when the request was sent on it. */
  onDeadSocket(request: WireRequest, mark: number): void;
}

/** Handles Node's events for one request. The promise in `response` settles with the headers. */
export class NodeExchange implements ResponseBody, Abortable {
  readonly response: Promise<WireResponse>;
  #resolve!: (response: WireResponse | Promise<WireResponse>) => void;
  #reject!: (error: unknown) => void;
  readonly #wanted: WireRequest;
  readonly #owner: ExchangeOwner;
  readonly #onDone: (() => void) | undefined;
  #sentAtMark = 0;
  #stopWaiting: (() => void) | undefined;
  #request: ClientRequest | undefined;
  #incoming: IncomingMessage | undefined;
  #phase: "queued" | "sent" | "answered" | "done" = "queued";
  /** The exchange counts against the socket limit. */
  #holdsSlot = false;
  /** Cancels the wait for a slot or for a tunnel. */
  #stopPreparing: (() => void) | undefined;
  #sink: BodySink | undefined;
  /** The error that broke the body before it was piped. */
  #broken: { readonly error: unknown } | undefined;

  /** @param onDone called when the exchange is over */
  constructor(wanted: WireRequest, owner: ExchangeOwner, onDone?: () => void) {
    const { signal, handle } = wanted;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#wanted = wanted;
    this.#owner = owner;
    this.#onDone = onDone;
    handle?.attach(this);
    if (signal?.aborted) this.abort(signal.reason);
    else if (signal) this.#stopWaiting = onSharedAbort(signal, () => this.abort(signal.reason));
  }

  /** The exchange was aborted or has ended. */
  get done(): boolean {
    return this.#phase === "done";
  }

  /** Listens to the events of this request. */
  watch(request: ClientRequest): void {
    this.#request = request;
    request.on("error", this.#onError);
    request.on("response", this.#onResponse);
    request.on("upgrade", onUpgrade);
    if (this.#holdsSlot) request.on("close", this.#onClosed);
  }

  /** From now on the exchange counts against the socket limit. */
  holdSlot(): void {
    this.#holdsSlot = true;
  }

  /** The exchange waits for a slot or a tunnel; `giveUp` cancels the wait. */
  readonly prepare = (giveUp: () => void): void => {
    if (this.#phase === "done") giveUp();
    else this.#stopPreparing = giveUp;
  };

  /** The socket is open: from now on it is unknown what the server has read. */
  sent(): void {
    if (this.#phase !== "queued") return;
    this.#phase = "sent";
    this.#sentAtMark = this.#owner.idleMark;
  }

  /** The request could not be started. */
  fail(error: unknown): void {
    this.#onError(error);
    this.#onClosed();
  }

  pipe(sink: BodySink): void {
    if (this.#broken !== undefined) return sink.fail(this.#broken.error);
    const incoming = this.#incoming;
    if (incoming === undefined || this.#phase === "done") return;
    this.#sink = sink;
    incoming.on("end", this.#onEnd);
    // Starts the flow in a later turn.
    incoming.on("data", this.#onData);
  }

  resume(): void {
    this.#incoming?.resume();
  }

  cancel(): void {
    this.#sink = undefined;
    if (this.#phase === "done") return;
    this.#settle();
    // The whole body has arrived: the socket can be reused.
    if (this.#incoming?.complete) this.#incoming.resume();
    else this.#request?.destroy();
  }

  /** The caller fails with `reason` itself. True if no byte of the request was sent. */
  abort(reason: unknown): boolean {
    if (this.#phase === "done") return false;
    const isUnsent = this.#phase === "queued";
    if (reason === NO_RESPONSE) this.#suspectSocket();
    this.#finish({ error: reason });
    this.#request?.destroy();
    return isUnsent;
  }

  readonly #onResponse = (incoming: IncomingMessage): void => {
    // Already aborted: an unread response would hold its socket forever.
    if (this.#phase === "done") return void incoming.resume();
    if (incoming.statusCode === SWITCHING_PROTOCOLS) return void this.#request?.destroy(switchedProtocols());
    const refusal = this.#owner.onResponse(this.#wanted, incoming);
    if (refusal !== undefined) return void this.#request?.destroy(refusal);
    this.#phase = "answered";
    this.#incoming = incoming;
    incoming.on("error", this.#onError);
    const { statusCode = 0, statusMessage = "", headers } = incoming;
    const response: WireResponse = {
      status: statusCode,
      statusText: statusMessage,
      headers: new LightHeaders(headers),
      body: this,
    };
    this.#resolve(headers["content-encoding"] === undefined ? response : decompressed(response));
  };

  readonly #onData = (chunk: Uint8Array): void => {
    if (this.#sink !== undefined && !this.#sink.chunk(chunk)) this.#incoming?.pause();
  };

  readonly #onEnd = (): void => {
    if (this.#phase !== "done") this.#finish(undefined);
  };

  readonly #onError = (error: unknown): void => {
    if (this.#phase === "done") return;
    this.#suspectSocket();
    this.#finish({ error: this.#owner.toError(this.#wanted, error, this.#phase !== "queued") });
  };

  readonly #onClosed = (): void => {
    if (!this.#holdsSlot) return;
    this.#holdsSlot = false;
    this.#owner.onReleased(this.#wanted);
  };

  /** A request on a kept-alive socket failed: the socket may have been dead before. */
  #suspectSocket(): void {
    if (this.#phase !== "sent" || this.#request?.reusedSocket !== true) return;
    this.#owner.onDeadSocket(this.#wanted, this.#sentAtMark);
  }

  #finish(broken: { readonly error: unknown } | undefined): void {
    const answered = this.#phase === "answered";
    const sink = this.#sink;
    this.#sink = undefined;
    this.#settle();
    if (broken === undefined) sink?.end();
    else if (!answered) this.#reject(broken.error);
    else if (sink === undefined) this.#broken = broken;
    else sink.fail(broken.error);
  }

  #settle(): void {
    this.#phase = "done";
    // All requests of a connection share this signal: remove the listener.
    this.#stopWaiting?.();
    this.#stopPreparing?.();
    this.#onDone?.();
  }
}

const SWITCHING_PROTOCOLS = 101;

/** Without this listener Node drops the socket silently. One function serves all requests: `this` is the request. */
function onUpgrade(this: ClientRequest, _response: IncomingMessage, socket: Duplex): void {
  socket.destroy();
  this.emit("error", switchedProtocols());
  // Node does not emit this for a request whose socket was upgraded.
  this.emit("close");
}

/** No final response follows HTTP 101: the connection then belongs to another protocol. */
function switchedProtocols(): ConnectionError {
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: "The server answered with HTTP 101 (switching protocols), which Toolport did not request",
    next: 'Check that the URL is an MCP endpoint over HTTP; for a WebSocket server set transport to "websocket"',
    status: SWITCHING_PROTOCOLS,
    outcome: "unknown",
  });
}

/** Requests ask for uncompressed bodies, so this is rarely needed. */
async function decompressed(response: WireResponse): Promise<WireResponse> {
  const { decompress } = await import("./decompress.js");
  return decompress(response);
}
