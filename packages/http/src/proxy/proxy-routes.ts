/** Proxies: which one a target needs, its credentials and errors, and tunnels through it. Loaded only if a proxy is set. */

import { type Agent, request as httpRequest, type RequestOptions } from "node:http";
import { BlockList, isIP, type LookupFunction, type Socket } from "node:net";
import {
  ConfigError,
  ConnectionError,
  canParseUrl,
  getOrMake,
  ToolportError,
  USER_AGENT,
} from "@toolport/base";
import { clientClosed, toNetworkError } from "../http-errors.js";
import { canonicalHost, isLoopbackHost } from "../local-host.js";
import type { ProxyOption } from "./proxy-option.js";

/** Statuses that do not change with a retry: the proxy's rules or the credentials have to change first. */
const PERMANENT: ReadonlySet<number> = new Set([400, 401, 403, 405, 407]);

export class ProxyServer {
  /** Host and port, for messages. */
  readonly host: string;
  readonly hostname: string;
  readonly port: number;
  readonly protocol: "http:" | "https:";
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | undefined;

  /** @throws ConfigError that names the source but not the value, which may contain a password */
  constructor(
    address: string /** Where it is configured: the name of a variable, or `proxy` for the option. */,
    readonly source: string,
  ) {
    const text = address.trim();
    // `proxy.example:3128` would be read as a scheme.
    const url = toUrl(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`, source);
    const { protocol, hostname, port, username, password } = url;
    if (protocol !== "http:" && protocol !== "https:") throw notSupported(protocol, source);
    this.protocol = protocol;
    this.hostname = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    this.port = Number(port) || (protocol === "https:" ? 443 : 80);
    this.host = `${hostname}:${this.port}`;
    if (username !== "" || password !== "") {
      const pair = `${decode(username)}:${decode(password)}`;
      this.authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
    }
  }

  /** Requests may share a socket to a proxy only if their keys are equal. */
  get key(): string {
    return `${this.protocol}//${this.host} ${this.authorization ?? ""}`;
  }

  /** The proxy itself cannot be reached. */
  unreachable(cause: unknown): ToolportError {
    if (ToolportError.isInstance(cause)) return cause;
    const { errno, retryable } = toNetworkError(cause, { host: this.host, sent: false }) as ConnectionError;
    return new ConnectionError({
      code: "UNREACHABLE",
      what: `The proxy ${this.host} (set by ${this.source}) cannot be reached${errno === undefined ? "" : ` (${errno})`}`,
      next: `Check the address in ${this.source}. For a target that needs no proxy, set NO_PROXY or \`proxy: false\``,
      errno,
      retryable,
      outcome: "unsent",
      cause,
    });
  }

  /** The proxy did not respond in time. */
  tooSlow(target: string, timeoutMs: number): ConnectionError {
    return new ConnectionError({
      code: "UNREACHABLE",
      what: `The proxy ${this.host} (set by ${this.source}) did not open a connection to ${target} in ${timeoutMs} ms`,
      next: `Check that the proxy is up, and that it can reach ${target}`,
      errno: "ETIMEDOUT",
      retryable: true,
      outcome: "unsent",
    });
  }

  /** The proxy responded with an error status. */
  refused(target: string, status: number): ConnectionError {
    return new ConnectionError({
      code: "UNREACHABLE",
      what: `The proxy ${this.host} (set by ${this.source}) refused the connection to ${target} (HTTP ${status})`,
      next: this.#advice(status),
      status,
      retryable: !PERMANENT.has(status),
      outcome: "unsent",
    });
  }

  /** The proxy sent data that does not belong to a CONNECT response. */
  unexpectedData(target: string): ConnectionError {
    return new ConnectionError({
      code: "BAD_RESPONSE",
      what: `The proxy ${this.host} (set by ${this.source}) sent data before the connection to ${target} was in use`,
      next: "Check that the address is that of an HTTP proxy",
      outcome: "unsent",
    });
  }

  #advice(status: number): string {
    if (status === 407 || status === 401)
      return this.authorization === undefined
        ? `Add a user name and a password: ${this.source} = http://user:password@${this.host}`
        : `Check the user name and the password in ${this.source}`;
    if (status === 403) return "The proxy does not allow this target; ask its operator, or set NO_PROXY";
    return "Check that the proxy can reach the target";
  }
}

function toUrl(text: string, source: string): URL {
  if (canParseUrl(text)) return new URL(text);
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `${source} is not the address of a proxy`,
    next: "Set it to http://host:port, or unset it",
  });
}

function notSupported(protocol: string, source: string): ConfigError {
  const kind = protocol.startsWith("socks") ? "a SOCKS proxy" : `a proxy of the kind ${protocol}//`;
  return new ConfigError({
    code: "INVALID_CONFIG",
    what: `${source} names ${kind}, which is not supported`,
    next: `Set ${source} to an HTTP proxy (http://host:port), unset it, or name the target in NO_PROXY`,
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // For example a single "%" in a password.
    return text;
  }
}

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
  const proxyOf = ({ name, value }: Variable) => getOrMake(known, name, () => new ProxyServer(value, name));
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
function isLoopbackTarget(url: URL): boolean {
  const host = canonicalHost(url);
  return isLoopbackHost(host) || (isIP(host) !== 0 && ownAddresses.check(host, familyOf(host)));
}

/**
 * Reads `NO_PROXY`: names and their subdomains (`example.com`, `.example.com`, `*.example.com`), addresses, networks
 * (`10.0.0.0/8`), each with or without a port, or `*` for every target; separated by commas or spaces.
 */
function createNoProxy(list: string): (url: URL) => boolean {
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

interface TunnelOptions {
  /** The target: a name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Timeout until the proxy's response. */
  readonly timeoutMs: number;
  /** Rejects with the reason of this signal. */
  readonly signal?: AbortSignal | undefined;
  /** Resolves the name of the proxy. The proxy resolves the name of the target. */
  readonly lookup?: LookupFunction | undefined;
  /** Does not keep the host process alive. @default false */
  readonly isUnref?: boolean | undefined;
}

/** Resolves with a socket that is connected to the target. The caller adds TLS. */
export async function openTunnel(proxy: ProxyServer, options: TunnelOptions): Promise<Socket> {
  const { hostname, port, timeoutMs, signal, lookup, isUnref } = options;
  const target = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  const request = (proxy.protocol === "https:" ? (await import("node:https")).request : httpRequest)({
    hostname: proxy.hostname,
    port: proxy.port,
    method: "CONNECT",
    path: target,
    headers: {
      host: target,
      "user-agent": USER_AGENT,
      ...(proxy.authorization !== undefined && { "proxy-authorization": proxy.authorization }),
    },
    // No pool: the socket is handed to the caller.
    agent: false,
    rejectUnauthorized: true,
    ...(lookup !== undefined && { lookup }),
  } as RequestOptions);
  return new Promise((resolve, reject) => {
    const onAbort = () => fail(signal?.reason);
    const timer = setTimeout(() => fail(proxy.tooSlow(target, timeoutMs)), timeoutMs);
    const stopWaiting = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown): void => {
      stopWaiting();
      reject(error);
      request.destroy();
    };
    // Errors after the first come from our own `destroy()`: the promise is settled by then.
    request.on("error", (error) => fail(proxy.unreachable(error)));
    if (isUnref === true) {
      timer.unref();
      request.once("socket", (socket) => socket.unref());
    }
    request.once("connect", ({ statusCode = 0 }, socket: Socket, head) => {
      stopWaiting();
      if (statusCode >= 200 && statusCode < 300 && head.byteLength === 0) return resolve(socket);
      socket.destroy();
      // The target sends nothing before our first byte, so this data is not from the target.
      fail(
        statusCode >= 200 && statusCode < 300
          ? proxy.unexpectedData(target)
          : proxy.refused(target, statusCode),
      );
    });
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    request.end();
  });
}

/** Tunnels being opened, each with its abort controller. They are in no pool yet. */
export type PendingTunnels = Map<Promise<unknown>, AbortController>;

/** A request option that Node passes to the pool. The callback receives a function that stops opening the tunnel. */
export interface TunnelRequest {
  readonly onTunnelOpening?: ((giveUp: () => void) => void) | undefined;
}

interface ConnectOptions extends TunnelRequest {
  readonly host: string;
  readonly port: number | string;
}

/** Makes every new socket of the pool connect through the proxy; TLS with the target starts when the tunnel is open. */
export function connectThrough(
  proxy: ProxyServer,
  pool: Agent,
  pendingTunnels: PendingTunnels,
  options: Pick<TunnelOptions, "timeoutMs" | "lookup" | "isUnref">,
): void {
  const secure = pool.createConnection as (options: object) => Socket;
  const connect = async (target: ConnectOptions, signal: AbortSignal): Promise<Socket> => {
    const { host: hostname, port } = target;
    const socket = await openTunnel(proxy, { ...options, hostname, port: Number(port), signal });
    return secure.call(pool, { ...target, socket });
  };
  const createConnection = (
    target: ConnectOptions,
    done: (error: Error | null, socket?: Socket) => void,
  ): void => {
    const dial = new AbortController();
    const connecting = connect(target, dial.signal);
    pendingTunnels.set(connecting, dial);
    target.onTunnelOpening?.(() => dial.abort(clientClosed(true)));
    const finish = (error: Error | null, socket?: Socket) => {
      pendingTunnels.delete(connecting);
      done(error, socket);
    };
    connecting.then((socket) => finish(null, socket), finish);
  };
  pool.createConnection = createConnection as unknown as typeof pool.createConnection;
}
