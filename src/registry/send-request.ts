/** Sends one request to a registry, with limits on time and size. Never follows redirects to another origin. */

import { ConnectionError } from "../errors/connection-error.js";
import { canParseUrl } from "../util/can-parse-url.js";
import { withDeadline } from "../util/with-deadline.js";
import { type RegistryResponse, timeoutError, toFetchError } from "./registry-error.js";

export interface SendOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const MAX_HOPS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** Maximum size of error bodies. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Sends a GET and reads the whole response. An abort rejects with the signal's reason. */
export async function sendRequest(url: URL, options: SendOptions): Promise<RegistryResponse> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const inner = new AbortController();
  try {
    const onTimeout = () => timeoutError(url.host, timeoutMs);
    return await withDeadline(followRedirects(url, options, inner.signal), { signal, timeoutMs, onTimeout });
  } catch (error) {
    const failure = signal?.aborted ? signal.reason : toFetchError(error, url.host);
    // The deadline does not cancel the request: abort it here.
    inner.abort(failure);
    throw failure;
  }
}

async function followRedirects(
  start: URL,
  options: SendOptions,
  signal: AbortSignal,
): Promise<RegistryResponse> {
  const { fetch, headers, maxBytes } = options;
  let url = start;
  for (let hop = 0; ; hop++) {
    const response = await fetch(url.href, { headers, redirect: "manual", signal });
    const { status } = response;
    const isRedirect = REDIRECTS.includes(status) || response.type === "opaqueredirect";
    if (!isRedirect) {
      const text = await readText(response, { host: url.host, maxBytes });
      return { status, headers: response.headers, text };
    }
    await response.body?.cancel();
    url = nextHop(response, url, hop);
  }
}

function nextHop(response: Response, from: URL, hop: number): URL {
  const location = response.headers.get("location");
  const to = location !== null && canParseUrl(location, from.href) ? new URL(location, from) : undefined;
  if (to !== undefined && to.origin === from.origin && hop < MAX_HOPS) return to;
  const where = to === undefined ? "to an invalid URL" : `to ${to.protocol}//${to.host}`;
  const isLoop = to?.origin === from.origin;
  throw new ConnectionError({
    server: from.host,
    code: "ADDRESS_REFUSED",
    what: isLoop
      ? `The registry redirects more than ${MAX_HOPS} times`
      : `The registry redirects ${where}; redirects to another origin are not followed`,
    next: "Set `baseUrl` to the final URL of the registry",
    status: response.status,
  });
}

interface ReadLimits {
  readonly host: string;
  readonly maxBytes: number;
}

async function readText(response: Response, { host, maxBytes }: ReadLimits): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const limit = response.status >= 400 ? Math.min(maxBytes, MAX_ERROR_BYTES) : maxBytes;
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      if (response.status >= 400) return text;
      throw new ConnectionError({
        server: host,
        code: "MESSAGE_TOO_LARGE",
        what: `The registry's response is larger than ${maxBytes} bytes`,
        next: "Request fewer entries with `limit`, or raise `maxBytes`",
        status: response.status,
      });
    }
    text += decoder.decode(value, { stream: true });
  }
}
