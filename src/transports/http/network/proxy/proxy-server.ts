/** One proxy: its address, its credentials, and its errors. */

import { ConfigError, ConnectionError, ToolportError } from "../../../../errors/toolport-error.js";
import { canParseUrl } from "../../../../util/text.js";
import { toNetworkError } from "../http-errors.js";

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
  /** Where it is configured: the name of a variable, or `proxy` for the option. */
  readonly source: string;

  /** @throws ConfigError that names the source but not the value, which may contain a password */
  constructor(address: string, source: string) {
    const text = address.trim();
    // `proxy.example:3128` would be read as a scheme.
    const url = toUrl(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`, source);
    const { protocol, hostname, port, username, password } = url;
    if (protocol !== "http:" && protocol !== "https:") throw notSupported(protocol, source);
    this.protocol = protocol;
    this.hostname = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    this.port = Number(port) || (protocol === "https:" ? 443 : 80);
    this.host = `${hostname}:${this.port}`;
    this.source = source;
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
