/** The request, response and client types of Toolport's own HTTP layers, lighter than those of the fetch API. */
import { type AbortSource, onSharedAbort, USER_AGENT } from "@toolport/base";
import { toNetworkError } from "./http-errors.js";
import type { ProxyOption } from "./proxy/proxy-option.js";

/** How an `HttpClient` reaches the network. */
export interface HttpClientSettings {
  /** Makes the requests, and then also handles proxies and sockets. @default the client's own */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** @default "env" */
  readonly proxy?: ProxyOption | undefined;
  /** Maximum number of sockets for requests to one origin. @default 256 */
  readonly maxSockets?: number | undefined;
}

/** A `fetch` with a pool of sockets. */
export interface HttpClient {
  readonly fetch: typeof globalThis.fetch;
  /** Closes idle sockets; requests under way continue. True if no other sockets are left. */
  closeIdle(): boolean;
  /** Closes idle and open sockets. */
  close(): Promise<void>;
}

/** Checks an address that a host name resolved to; returns the error to fail with, or undefined. */
export type AddressCheck = (address: string) => Error | undefined;

export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Aborts the exchange. The caller fails with its reason. */
  readonly signal?: AbortSource | null | undefined;
  /** Called when the socket is open: from then on it is unknown what the server has read. */
  readonly onSent?: (() => void) | undefined;
  /** A long-lived stream that does not keep the host process alive. @default false */
  readonly background?: boolean | undefined;
  /** Sent regardless of the socket limit: requests that hold sockets may wait for this message. @default false */
  readonly isControl?: boolean | undefined;
  /** The request is sent when this promise resolves; its socket may be opened before. Must not reject. @default at once */
  readonly sendAfter?: Promise<void> | undefined;
  /** Called for every address before a connection is opened, if the runtime lets us resolve names ourselves. */
  readonly checkAddress?: AddressCheck | undefined;
}

/** Receives a body. Nothing is called after `end`, `fail` or the body's `cancel`. */
export interface BodySink {
  /** Returns false to pause the body until `resume()`. */
  chunk(bytes: Uint8Array): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** The body of a response. It does not flow before `pipe()`. */
export interface ResponseBody {
  pipe(sink: BodySink): void;
  resume(): void;
  /** Stops the flow. The connection is destroyed if the body is incomplete. */
  cancel(): void;
}

/** The part of `Headers` that the SDK uses. */
export interface ResponseHeaders extends Iterable<[string, string]> {
  get(name: string): string | null;
  has(name: string): boolean;
}

export interface WireResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
}

/** An `HttpClient` with a faster method, which creates no `Request`, `Response` or web stream. */
export interface WireClient extends HttpClient {
  /** Never follows redirects. */
  open(request: WireRequest): Promise<WireResponse>;
}

/** Abort reason of an exchange whose caller gave up. No caller sees it, so one object is enough. */
export const ABANDONED = new Error("abandoned");
/** The same after a timeout. Idle sockets to that server are closed too, because they may be dead. */
export const NO_RESPONSE = new Error("no response in time");

/** Whether the exchange was aborted because its caller gave up. */
export const isAbandoned = (reason: unknown): boolean => reason === ABANDONED || reason === NO_RESPONSE;

const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

type FetchArguments = Parameters<typeof globalThis.fetch>;

/** Headers in any form that `fetch` accepts, with lower-case names. */
export function toHeaderRecord(headers: RequestInit["headers"] | undefined): Record<string, string> {
  const record: Record<string, string> = {};
  if (headers === undefined || headers === null) return record;
  if (headers instanceof Headers) for (const [name, value] of headers) record[name] = value;
  else for (const [name, value] of new Headers(headers)) record[name] = value;
  return record;
}

/** The arguments of a `fetch` call as a wire request. */
export async function toWireRequest(
  input: FetchArguments[0],
  init?: FetchArguments[1],
): Promise<WireRequest> {
  const request = input instanceof Request ? input : undefined;
  const url = new URL(request === undefined ? String(input) : request.url);
  const headers = toHeaderRecord(init?.headers ?? request?.headers);
  const raw = init?.body ?? request?.body ?? undefined;
  let body: string | Uint8Array | undefined;
  if (typeof raw === "string" || raw instanceof Uint8Array) body = raw;
  else if (raw !== undefined) {
    // Response converts every other kind of body to bytes and knows its content type.
    const carrier = new Response(raw as RequestInit["body"] & {});
    const type = carrier.headers.get("content-type");
    if (type !== null && headers["content-type"] === undefined) headers["content-type"] = type;
    body = new Uint8Array(await carrier.arrayBuffer());
  }
  return {
    url,
    method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
    headers,
    body,
    signal: init?.signal ?? request?.signal,
  };
}

/** Response headers as `Headers`, without fields that the fetch standard forbids. */
function toHeaders(fields: ResponseHeaders): Headers {
  if (fields instanceof Headers) return fields;
  const headers = new Headers();
  for (const [name, value] of fields) {
    try {
      headers.append(name, value);
    } catch {
      // Skip names and values that the standard forbids.
    }
  }
  return headers;
}

/** A body as a web stream. */
function toWebStream(body: ResponseBody): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      body.pipe({
        chunk(bytes) {
          controller.enqueue(bytes);
          return (controller.desiredSize ?? 0) > 0;
        },
        end: () => controller.close(),
        fail: (error) => controller.error(error),
      });
    },
    pull: () => body.resume(),
    cancel: () => body.cancel(),
  });
}

/** A real `Response`, for code that tests `instanceof Response`. */
export function toResponse(response: WireResponse, bytes?: Uint8Array): Response {
  const init = {
    status: response.status,
    statusText: response.statusText,
    headers: toHeaders(response.headers),
  };
  if (WITHOUT_BODY.has(response.status)) {
    response.body.cancel();
    return new Response(null, init);
  }
  return new Response(
    (bytes ?? toWebStream(response.body)) as ConstructorParameters<typeof Response>[0],
    init,
  );
}

/** Status and headers as a `Response` without a body, without the cost of a real one. */
export function lightResponse({ status, statusText, headers }: WireResponse, { href: url }: URL): Response {
  const ok = status >= 200 && status < 300;
  const fields = { type: "basic", redirected: false, ok, status, statusText, headers, url, body: null };
  return { ...fields, text: async () => "" } as unknown as Response;
}

/**
 * Creates a network client over a `fetch`. It cannot resolve host names, so only literal addresses are checked.
 *
 * @param fetch @default the runtime's own
 */
export function createFetchClient(fetch: typeof globalThis.fetch = globalThis.fetch): WireClient {
  const guarded: typeof globalThis.fetch = async (input, init) => {
    try {
      // Called as a plain function: browsers require `this` to be undefined or the window.
      return await fetch(input, init);
    } catch (error) {
      const signal = init?.signal;
      if (signal?.aborted) throw signal.reason;
      throw toNetworkError(error, { host: hostOf(input), sent: undefined });
    }
  };
  return {
    fetch: guarded,
    open: (request) => openByFetch(guarded, request),
    // The runtime owns its sockets.
    closeIdle: () => true,
    close: async () => {},
  };
}

function hostOf(input: Parameters<typeof globalThis.fetch>[0]): string {
  try {
    return new URL(input instanceof Request ? input.url : String(input)).host;
  } catch {
    return "the server";
  }
}

/** The `open()` of a client; wraps a client that has only `fetch`. */
export function openWith(client: HttpClient | WireClient): WireClient["open"] {
  return "open" in client ? client.open.bind(client) : (request) => openByFetch(client.fetch, request);
}

/** Sends one request through any `fetch`. Resolved addresses are not checked. */
async function openByFetch(fetch: typeof globalThis.fetch, request: WireRequest): Promise<WireResponse> {
  // Use a separate signal: `fetch` may keep its listener until garbage collection.
  const own = new AbortController();
  const { signal } = request;
  signal?.throwIfAborted();
  const release = signal ? onSharedAbort(signal, () => own.abort(signal.reason)) : () => {};
  try {
    if (request.sendAfter !== undefined) await Promise.race([request.sendAfter, rejectOnAbort(own.signal)]);
    request.onSent?.();
    const response = await fetch(request.url, {
      method: request.method,
      headers: { "user-agent": USER_AGENT, ...request.headers },
      body: (request.body ?? null) as RequestInit["body"],
      signal: own.signal,
      redirect: "manual",
    });
    const { status, statusText, headers } = response;
    return { status, statusText, headers, body: webBody(response.body, release) };
  } catch (error) {
    release();
    throw error;
  }
}

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A web stream as a `ResponseBody`; `onDone` is called when the stream has ended or is cancelled. */
function webBody(stream: ReadableStream<Uint8Array> | null, onDone: () => void): ResponseBody {
  const reader = stream?.getReader();
  let wake: (() => void) | undefined;
  let cancelled = false;
  return {
    pipe(sink) {
      if (reader === undefined) {
        onDone();
        return sink.end();
      }
      const run = async () => {
        for (;;) {
          const { done, value } = await reader.read();
          if (cancelled) return;
          if (done) {
            onDone();
            return sink.end();
          }
          if (!sink.chunk(value) && !cancelled) await new Promise<void>((resolve) => (wake = resolve));
        }
      };
      run().catch((error) => {
        onDone();
        if (!cancelled) sink.fail(error);
      });
    },
    resume() {
      wake?.();
      wake = undefined;
    },
    cancel() {
      cancelled = true;
      onDone();
      wake?.();
      reader?.cancel().catch(() => {});
    },
  };
}
