/** What our own HTTP layers say to each other: one request, one answer, a body that is pushed and can be stopped. */

import { onSharedAbort } from "../../../util/shared-abort.js";
import type { HttpClient } from "../../server-transport.js";
import { USER_AGENT } from "../../user-agent.js";
import type { Lifeline } from "./lifeline.js";

/** Says no to an address a host name resolved to, by returning the error to fail with. */
export type AddressCheck = (address: string) => Error | undefined;

export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | null | undefined;
  /** Ends it as a signal does. */
  readonly line?: Lifeline | undefined;
  /** A stream for whatever the server may have to say, which keeps no host process alive. @default false */
  readonly standing?: boolean | undefined;
  /** Sent at once, whatever the limit on sockets: requests that hold sockets may wait for what it says. @default false */
  readonly isControl?: boolean | undefined;
  /** Asked about every address before a connection is opened, where the runtime lets us resolve names ourselves. */
  readonly checkAddress?: AddressCheck | undefined;
}

/** Where a body goes. Nothing is called after `end`, `fail` or the body's `cancel`. */
export interface BodySink {
  /** Returns false to be left alone until `resume()`. */
  chunk(bytes: Uint8Array): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** The body of an answer, which waits until somebody takes it. */
export interface AnswerBody {
  pipe(sink: BodySink): void;
  resume(): void;
  /** Stops the flow; a connection in mid-answer is destroyed. */
  cancel(): void;
}

/** The part of `Headers` that the SDK uses. */
export interface AnswerHeaders extends Iterable<[string, string]> {
  get(name: string): string | null;
  has(name: string): boolean;
}

export interface WireAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: AnswerHeaders;
  readonly body: AnswerBody;
}

/** An `HttpClient` with the light way in: no `Request`, no `Response`, no web stream. */
export interface WireClient extends HttpClient {
  /** Redirects are never followed. */
  open(request: WireRequest): Promise<WireAnswer>;
}

const isWireClient = (client: HttpClient): client is WireClient => "open" in client;

/** The light way into any client; one that has only `fetch` is wrapped. */
export function openWith(client: HttpClient): WireClient["open"] {
  if (isWireClient(client)) return (request) => client.open(request);
  return (request) => openByFetch(client.fetch, request);
}

/** One request through a fetch of somebody else's. Addresses cannot be checked there. */
export async function openByFetch(fetch: typeof globalThis.fetch, request: WireRequest): Promise<WireAnswer> {
  // A signal of its own: `fetch` may keep listening on it until it is collected as garbage.
  const own = new AbortController();
  const { signal, line } = request;
  if (signal?.aborted) throw signal.reason;
  line?.throwIfAborted();
  line?.attach(own);
  const release = signal ? onSharedAbort(signal, () => own.abort(signal.reason)) : () => {};
  try {
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

/** A web stream as an `AnswerBody`; `onDone` is called when nothing more comes of it. */
function webBody(stream: ReadableStream<Uint8Array> | null, onDone: () => void): AnswerBody {
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
