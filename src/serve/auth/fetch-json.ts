/** Requests a JSON document of the issuer, with limits on its size and time. */
import { createFetchClient } from "../../transports/http/network/fetch-client.js";
import { createGuardedFetch } from "../../transports/http/network/guarded-fetch.js";
import { canonicalHost, isLoopbackHost } from "../../transports/http/network/local-host.js";
import type { HttpClient } from "../../transports/server-transport.js";

/** Sends a request and returns the status and the parsed body (undefined if it is not JSON). */
export type FetchJson = (url: URL, init?: RequestInit) => Promise<{ status: number; body: unknown }>;

const MAX_BYTES = 512 * 1024;
const TIMEOUT_MS = 5_000;

/**
 * @param http the network client, with the proxy settings of the port. Default: the `fetch` of the runtime
 * @param signal aborts every request
 */
export function createFetchJson(
  http: (() => Promise<HttpClient>) | undefined,
  signal: AbortSignal,
): FetchJson {
  let client: Promise<HttpClient> | undefined;
  return async (url, init = {}) => {
    // The operator configured the issuer, and its metadata names the other addresses: private hosts are allowed, plain http is not.
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(canonicalHost(url))))
      throw new Error(`${url.protocol}//${url.host} is neither https nor on this machine`);
    client ??= http?.() ?? Promise.resolve(createFetchClient());
    const fetch = createGuardedFetch(await client, {
      serverUrl: url,
      maxBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
    });
    const headers = { accept: "application/json", ...(init.headers as Record<string, string>) };
    const response = await fetch(url, { ...init, headers, redirect: "manual", signal });
    const text = await response.text();
    return { status: response.status, body: parse(text) };
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
