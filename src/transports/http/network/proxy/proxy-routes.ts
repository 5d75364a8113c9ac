/** Chooses the proxy for a target, by the `proxy` option or the environment. Loaded only if a proxy is set. */

import { BlockList, isIP } from "node:net";
import type { ProxyOption } from "../../../../config/server-entry.js";
import { canonicalHost, isLoopbackHost } from "../local-host.js";
import { ProxyServer } from "./proxy-server.js";

/**
 * The proxy for a target; undefined: none.
 *
 * @throws ConfigError if the target's proxy is not supported
 */
export type ProxyRoutes = (url: URL) => ProxyServer | undefined;

type Environment = Readonly<Record<string, string | undefined>>;

/** An address in the option applies to every target. */
export function createProxyRoutes(option: ProxyOption, env: Environment = process.env): ProxyRoutes {
  if (option === false) return () => undefined;
  if (option === "env") return environmentRoutes(env);
  const proxy = new ProxyServer(option, "proxy");
  return () => proxy;
}

function environmentRoutes(env: Environment): ProxyRoutes {
  const isExcepted = createNoProxy(variable(env, "NO_PROXY")?.value ?? "");
  const known = new Map<string, ProxyServer>();
  const proxyOf = ({ name, value }: Variable): ProxyServer => {
    let proxy = known.get(name);
    if (proxy === undefined) {
      proxy = new ProxyServer(value, name);
      known.set(name, proxy);
    }
    return proxy;
  };
  return (url) => {
    const isSecure = url.protocol === "https:" || url.protocol === "wss:";
    const found = variable(env, isSecure ? "HTTPS_PROXY" : "HTTP_PROXY") ?? variable(env, "ALL_PROXY");
    if (found === undefined || found.value === "") return undefined;
    return isLoopbackTarget(url) || isExcepted(url) ? undefined : proxyOf(found);
  };
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** Lower case first, as in curl. An empty value means "no proxy", and the next variable is not read. */
function variable(env: Environment, upper: string): Variable | undefined {
  const lower = upper.toLowerCase();
  if (env[lower] !== undefined) return { name: lower, value: env[lower].trim() };
  // In a CGI program the `Proxy` header of a request sets this variable (httpoxy).
  if (upper === "HTTP_PROXY" && env["REQUEST_METHOD"] !== undefined) return undefined;
  return env[upper] === undefined ? undefined : { name: upper, value: env[upper].trim() };
}

const PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "ws:": "80",
  "https:": "443",
  "wss:": "443",
};

type Matcher = (host: string, port: string) => boolean;

/** Addresses of this machine, also in their IPv6 forms. */
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
