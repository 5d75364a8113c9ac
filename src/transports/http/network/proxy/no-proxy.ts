/** Targets that are reached without a proxy: `NO_PROXY`, and this machine. */
import { BlockList, isIP } from "node:net";
import { canonicalHost, isLoopbackHost } from "../local-host.js";

const PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "ws:": "80",
  "https:": "443",
  "wss:": "443",
};

type Matcher = (host: string, port: string) => boolean;

/** Addresses of this machine, also in their IPv6 spellings. */
const ownAddresses = new BlockList();
ownAddresses.addSubnet("127.0.0.0", 8, "ipv4");
ownAddresses.addAddress("0.0.0.0", "ipv4");
ownAddresses.addAddress("::1", "ipv6");
ownAddresses.addAddress("::", "ipv6");

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** Whether the target is this machine. */
export function isLoopbackTarget(url: URL): boolean {
  const host = canonicalHost(url);
  return isLoopbackHost(host) || (isIP(host) !== 0 && ownAddresses.check(host, familyOf(host)));
}

/**
 * Reads `NO_PROXY`: names and their subdomains (`example.com`, `.example.com`, `*.example.com`), addresses, networks
 * (`10.0.0.0/8`), each with or without a port, or `*` for every target; separated by commas or spaces.
 */
export function createNoProxy(list: string): (url: URL) => boolean {
  const matchers = list
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(toMatcher);
  return (url) => {
    const host = canonicalHost(url);
    const port = url.port || (PORTS[url.protocol] ?? "");
    return matchers.some((matches) => matches(host, port));
  };
}

function toMatcher(entry: string): Matcher {
  if (entry === "*") return () => true;
  const { host, port } = splitPort(entry.toLowerCase());
  const matchesHost = toHostMatcher(host);
  return (target, targetPort) => (port === undefined || port === targetPort) && matchesHost(target);
}

/** `host:port`, `[address]:port`, or neither; a bare IPv6 address has no port. */
function splitPort(entry: string): { host: string; port: string | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { host: bracketed[1]!, port: bracketed[2] };
  const [, host = entry, port] = /^([^:]*):(\d+)$/.exec(entry) ?? [];
  return { host, port };
}

function toHostMatcher(host: string): (target: string) => boolean {
  const [address = "", bits] = host.split("/");
  const network = isIP(address) === 0 ? undefined : toNetwork(address, bits);
  if (network !== undefined) return (target) => isIP(target) !== 0 && network.check(target, familyOf(target));
  const name = host.replace(/^\*?\./, "").replace(/\.$/, "");
  return (target) => target === name || target.endsWith(`.${name}`);
}

function toNetwork(address: string, bits: string | undefined): BlockList | undefined {
  const family = familyOf(address);
  const network = new BlockList();
  const longest = family === "ipv4" ? 32 : 128;
  if (bits === undefined) network.addAddress(address, family);
  else if (/^\d{1,3}$/.test(bits) && Number(bits) <= longest)
    network.addSubnet(address, Number(bits), family);
  else return undefined;
  return network;
}
