/** Decides which URLs learned from the network may be contacted. Loaded lazily, because of `ipaddr.js`. */

import { ConnectionError } from "@toolport/base";
import ipaddr from "ipaddr.js";
import { canonicalHost, isLiteralAddress, isLocalName, isLoopbackHost } from "./local-host.js";
import type { AddressCheck } from "./wire-client.js";

export interface AddressRuleOptions {
  /** The configured URL of the server; its host may be private. */
  readonly serverUrl: string | URL;
  /** Further hosts that may be private. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** Checks one URL: throws, or returns the check for the addresses that its host resolves to (if any). */
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

/** `localhost`, `127.0.0.1` and `::1` are the same host; 127.0.0.2 is another. */
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

type IPv4 = InstanceType<typeof ipaddr.IPv4>;
type IPv6 = InstanceType<typeof ipaddr.IPv6>;

/** Azure's platform services (DNS, guest agent, keys), reachable only from Azure virtual machines. */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Whether an IP address is outside the public internet. Text that is not an IP address counts as private.
 *
 * @param address dotted IPv4 or IPv6, with or without brackets and zone
 */
export function isPrivateAddress(address: string): boolean {
  const bare = (address.startsWith("[") ? address.slice(1, -1) : address).split("%")[0] ?? "";
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return isPrivateV4(ipaddr.IPv4.parse(bare));
  return ipaddr.IPv6.isValid(bare) ? isPrivateV6(ipaddr.IPv6.parse(bare)) : true;
}

/** Whether a canonical host is private by its name alone, before name resolution. */
export function isPrivateHost(host: string): boolean {
  return isLiteralAddress(host) ? isPrivateAddress(host) : isLocalName(host);
}

function isPrivateV4(address: IPv4): boolean {
  return address.range() !== "unicast" || address.toString() === AZURE_PLATFORM;
}

function isPrivateV6(address: IPv6): boolean {
  const { parts } = address;
  const [first = 0, second = 0, third = 0, , fifth = 0, sixth = 0, seventh = 0, last = 0] = parts;
  switch (address.range()) {
    case "ipv4Mapped":
    case "rfc6145":
      return isPrivateV4(embedded(seventh, last));
    case "rfc6052":
      // NAT64: the well-known prefix embeds any IPv4 address; the other prefix is for local use.
      return third !== 0 || isPrivateV4(embedded(seventh, last));
    case "6to4":
      return isPrivateV4(embedded(second, third));
    case "unicast": {
      // The library also calls unassigned space unicast. Only 2000::/3 is in use, and 3fff::/16 is for documentation.
      if (first < 0x2000 || first >= 0x3fff) return true;
      const isIsatap = (fifth === 0 || fifth === 0x200) && sixth === 0x5efe;
      return isIsatap && isPrivateV4(embedded(seventh, last));
    }
    default:
      return true;
  }
}

/** The IPv4 address in two groups of an IPv6 address. */
function embedded(high: number, low: number): IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}
