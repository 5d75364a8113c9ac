/** A fetch for URLs learned from the network: they may not point the client at somebody's private addresses. */
import { ConnectionError } from "../../../errors/connection-error.js";
import type { HttpClient } from "../../server-transport.js";
import { collectBody } from "./collect-body.js";
import { canonicalHost, isLoopbackHost, isPrivateAddress, isPrivateHost } from "./private-address.js";
import { type AddressCheck, openWith } from "./wire.js";
import { toResponse, toWireRequest } from "./wire-response.js";

export interface GuardOptions {
  /** The server as configured: its own host may be private. */
  readonly serverUrl: string | URL;
  /** More hosts that may be private. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** @default 256 KiB */
  readonly maxBytes?: number;
  /** From the call to the last byte. @default 10000 */
  readonly timeoutMs?: number;
}

/**
 * Makes the fetch that OAuth metadata, token and registration requests go through. Redirects are never followed: the
 * SDK follows those within one origin, and each hop comes through here again.
 */
export function createGuardedFetch(client: HttpClient, options: GuardOptions): typeof globalThis.fetch {
  const { maxBytes = 256 * 1024, timeoutMs = 10_000 } = options;
  const open = openWith(client);
  const judge = createAddressRule(options);
  return async (input, init) => {
    const request = await toWireRequest(input, init);
    const checkAddress = judge(request.url);
    const deadline = new AbortController();
    const late = () => deadline.abort(tooSlow(request.url, timeoutMs));
    const timer = setTimeout(late, timeoutMs);
    const { signal } = request;
    const onAbort = () => deadline.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort);
    try {
      const answer = await open({ ...request, signal: deadline.signal, checkAddress });
      const { bytes, cut } = await collectBody(answer.body, { maxBytes });
      if (cut) throw tooLarge(request.url, answer.status, maxBytes);
      return toResponse(answer, bytes);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  };
}

/** Decides about one URL: throws, or returns the check that its resolved addresses have to pass (if any). */
export function createAddressRule({
  serverUrl,
  allowedHosts = [],
}: GuardOptions): (url: URL) => AddressCheck | undefined {
  const server = new URL(serverUrl);
  const home = canonicalHost(server);
  const atHome = sameHostAs(home);
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  return (url) => {
    if (url.origin === server.origin) return undefined;
    const host = canonicalHost(url);
    if (url.username !== "" || url.password !== "") throw refused(url, "has a user name in it");
    const plainAllowed = isLoopbackHost(home) && isLoopbackHost(host);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && plainAllowed))
      throw refused(url, "is not https");
    if (atHome(host) || allowed.has(host) || allowed.has(url.host)) return undefined;
    if (isPrivateHost(host)) throw refused(url, "is a private address");
    return (address) =>
      isPrivateAddress(address) ? refused(url, "resolves to a private address") : undefined;
  };
}

/** `localhost`, `127.0.0.1` and `::1` are three names of one host; 127.0.0.2 is another. */
function sameHostAs(home: string): (host: string) => boolean {
  const self = new Set(["localhost", "127.0.0.1", "::1"]);
  return self.has(home) ? (host) => self.has(host) : (host) => host === home;
}

function refused(url: URL, why: string): ConnectionError {
  return new ConnectionError({
    code: "ADDRESS_REFUSED",
    what: `The server named an address that ${why}: ${url.protocol}//${url.host}`,
    next: "If you trust it, name the host in `oauth.allowedHosts`",
    outcome: "unsent",
  });
}

const tooLarge = (url: URL, status: number, maxBytes: number) =>
  new ConnectionError({
    code: "MESSAGE_TOO_LARGE",
    what: `The answer of ${url.host} is larger than ${maxBytes} bytes`,
    status,
  });

const tooSlow = (url: URL, timeoutMs: number) =>
  new ConnectionError({
    code: "UNREACHABLE",
    what: `${url.host} did not answer within ${timeoutMs} ms`,
    retryable: true,
  });
