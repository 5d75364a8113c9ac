/** Which URLs learned from the network may be contacted. Loaded lazily, with `private-address.ts`. */
import { ConnectionError } from "../../../errors/connection-error.js";
import { canonicalHost, isLoopbackHost } from "./local-host.js";
import { isPrivateAddress, isPrivateHost } from "./private-address.js";
import type { AddressCheck } from "./wire.js";

export interface AddressRuleOptions {
  /** The server as configured: its own host may be private. */
  readonly serverUrl: string | URL;
  /** More hosts that may be private. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** Decides about one URL: throws, or returns the check that its resolved addresses have to pass (if any). */
export function createAddressRule({
  serverUrl,
  allowedHosts = [],
}: AddressRuleOptions): (url: URL) => AddressCheck | undefined {
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
