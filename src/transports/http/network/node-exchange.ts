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

/** Header fields as Node gives them (names in lower case). */
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
  /** Grows with every socket that becomes idle. */
  readonly idleMark: number;
  /** The response has begun. Returns an error if it is not an response of the server. */
  onResponse(request: WireRequest, incoming: IncomingMessage): Error | undefined;
  /** Its socket, if it had one, is closed or free for the next request. Called once for each exchange that held a slot. */
  onReleased(request: WireRequest): void;
  /** What a failure of Node's means; `sent`: whether a byte of the request can have left. */
  toError(request: WireRequest, error: unknown, sent: boolean): unknown;
  /** A kept socket turned out to be dead; `mark` is the idle mark at which the request was sent on it. */
  onDeadSocket(request: WireRequest, mark: number): void;
}

/** Takes Node's events for one request. The promise in `response` settles with the headers. */
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
  /** It counts against the limit on sockets. */
  #holdsSlot = false;
  /** Stops what has to happen before it can be sent: the wait for a slot, the opening of a tunnel. */
  #stopPreparing: (() => void) | undefined;
  #sink: BodySink | undefined;
  /** How the body broke before anybody took it. */
  #broken: { readonly error: unknown } | undefined;

  /** @param onDone called when nothing more comes of it */
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

  /** Over before it was begun. */
  get done(): boolean {
    return this.#phase === "done";
  }

  /** This is the request whose response is waited for. */
  watch(request: ClientRequest): void {
    this.#request = request;
    request.on("error", this.#onError);
    request.on("response", this.#onResponse);
    request.on("upgrade", onUpgrade);
    if (this.#holdsSlot) request.on("close", this.#onClosed);
  }

  /** It counts against the limit on sockets from now on. */
  holdSlot(): void {
    this.#holdsSlot = true;
  }

  /** It waits for a slot or a tunnel; `giveUp` stops that. */
  readonly prepare = (giveUp: () => void): void => {
    if (this.#phase === "done") giveUp();
    else this.#stopPreparing = giveUp;
  };

  /** Its socket is open: from now on nobody knows what was read. */
  sent(): void {
    if (this.#phase !== "queued") return;
    this.#phase = "sent";
    this.#sentAtMark = this.#owner.idleMark;
  }

  /** It could not even be begun. */
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
    // It begins to flow, in a later turn.
    incoming.on("data", this.#onData);
  }

  resume(): void {
    this.#incoming?.resume();
  }

  cancel(): void {
    this.#sink = undefined;
    if (this.#phase === "done") return;
    this.#settle();
    // All of it is here: the socket can be used again.
    if (this.#incoming?.complete) this.#incoming.resume();
    else this.#request?.destroy();
  }

  /** The reason goes through untouched. True if no byte of the request was sent. */
  abort(reason: unknown): boolean {
    if (this.#phase === "done") return false;
    const isUnsent = this.#phase === "queued";
    if (reason === NO_RESPONSE) this.#suspectSocket();
    this.#finish({ error: reason });
    this.#request?.destroy();
    return isUnsent;
  }

  readonly #onResponse = (incoming: IncomingMessage): void => {
    // Over already: a incoming that nobody listens to would hold its socket for ever.
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

  /** A request on a kept socket came to nothing: the socket may have been dead before. */
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
    // The same signal is given to every request of a connection: nothing may pile up on it.
    this.#stopWaiting?.();
    this.#stopPreparing?.();
    this.#onDone?.();
  }
}

const SWITCHING_PROTOCOLS = 101;

/** Without this listener Node drops the socket in silence. One function for all requests: `this` is the request. */
function onUpgrade(this: ClientRequest, _response: IncomingMessage, socket: Duplex): void {
  socket.destroy();
  this.emit("error", switchedProtocols());
  // Node does not say so for a request whose socket was taken over.
  this.emit("close");
}

/** No final response follows HTTP 101: the connection belongs to another protocol from then on. */
function switchedProtocols(): ConnectionError {
  return new ConnectionError({
    code: "BAD_RESPONSE",
    what: "The server answered with HTTP 101 (switching protocols), which Toolport did not ask for",
    next: 'Check that the URL is an MCP endpoint over HTTP; for a WebSocket server set transport to "websocket"',
    status: SWITCHING_PROTOCOLS,
    outcome: "unknown",
  });
}

/** We ask for plain bodies, so that hardly anybody ever needs this. */
async function decompressed(response: WireResponse): Promise<WireResponse> {
  const { decompress } = await import("./decompress.js");
  return decompress(response);
}
