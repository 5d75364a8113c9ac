/** A fetch for URLs learned from the network: refuses private addresses, large bodies and slow servers. */
import { ConnectionError, LightAbort, onSharedAbort } from "@toolport/base";
import type { AddressRuleOptions } from "./address-rule.js";
import { collectBody } from "./response-body.js";
import {
  type AddressCheck,
  type HttpClient,
  openWith,
  toResponse,
  toWireRequest,
  type WireRequest,
} from "./wire-client.js";

interface GuardOptions extends AddressRuleOptions {
  /** @default 256 KiB */
  readonly maxBytes?: number;
  /** From the call to the last byte. @default 10000 */
  readonly timeoutMs?: number;
  /** Receives every exchange, secrets included. @default none */
  readonly observe?: ((exchange: ObservedExchange) => void) | undefined;
}

/** A request and its response, if one arrived. */
export interface ObservedExchange {
  readonly request: Pick<WireRequest, "url" | "method" | "headers" | "body">;
  readonly status?: number | undefined;
  readonly bytes?: Uint8Array | undefined;
  /** Set for a request to the MCP server itself that it rejected: the header `WWW-Authenticate`, or "". */
  readonly challenge?: string | undefined;
  readonly durationMs: number;
}

/**
 * Creates the fetch for OAuth metadata, token and registration requests. It never follows redirects: the SDK follows those
 * within one origin, and each one passes through here again.
 */
export function createGuardedFetch(client: HttpClient, options: GuardOptions): typeof globalThis.fetch {
  const { maxBytes = 256 * 1024, timeoutMs = 10_000 } = options;
  const open = openWith(client);
  let rule: Promise<(url: URL) => AddressCheck | undefined> | undefined;
  const loadRule = async () => (await import("./address-rule.js")).createAddressRule(options);
  return async (input, init) => {
    const request = await toWireRequest(input, init);
    rule ??= loadRule();
    const checkAddress = (await rule)(request.url);
    const deadline = new LightAbort();
    const late = () => deadline.abort(tooSlow(request.url, timeoutMs));
    const timer = setTimeout(late, timeoutMs);
    const { signal } = request;
    const onAbort = () => deadline.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    const stopListening = signal ? onSharedAbort(signal, onAbort) : undefined;
    const startedAt = performance.now();
    let seen: Pick<ObservedExchange, "status" | "bytes"> = {};
    try {
      const response = await open({ ...request, signal: deadline, checkAddress });
      seen = { status: response.status };
      const { bytes, cut } = await collectBody(response.body, { maxBytes });
      if (cut) throw tooLarge(request.url, response.status, maxBytes);
      seen = { status: response.status, bytes };
      return toResponse(response, bytes);
    } finally {
      options.observe?.({ request, ...seen, durationMs: performance.now() - startedAt });
      clearTimeout(timer);
      stopListening?.();
    }
  };
}

const tooLarge = (url: URL, status: number, maxBytes: number) =>
  new ConnectionError({
    code: "MESSAGE_TOO_LARGE",
    what: `The response of ${url.host} is larger than ${maxBytes} bytes`,
    status,
  });

const tooSlow = (url: URL, timeoutMs: number) =>
  new ConnectionError({
    code: "UNREACHABLE",
    what: `${url.host} did not respond within ${timeoutMs} ms`,
    retryable: true,
  });
