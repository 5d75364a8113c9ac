/** A network client over `fetch`: for Workers, browsers, or a `fetch` that the user configured. */

import { onSharedAbort } from "../../../util/shared-abort.js";
import type { HttpClient } from "../../server-transport.js";
import { USER_AGENT } from "../../user-agent.js";
import { toNetworkError } from "./http-errors.js";
import type { ResponseBody, WireClient, WireRequest, WireResponse } from "./wire-client.js";

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
