/** Reads errors of other libraries, HTTP statuses, JSON-RPC codes and errors of the system. */

import { redactText } from "../util/redact-text.js";
import {
  AuthError,
  ConnectionError,
  type ErrorContext,
  type Outcome,
  ToolCallError,
  ToolportError,
} from "./toolport-error.js";

/** Reads a field of any value; undefined if a getter throws. */
export function readField(value: unknown, key: string | symbol): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string | symbol, unknown>)[key];
  } catch {
    return undefined;
  }
}

const brandsKey = Symbol.for("mcp.sdk.errorBrands");

/** Whether an error has a brand of the MCP SDK, such as `mcp.SdkHttpError`. Works across copies of the SDK. */
export function hasBrand(error: unknown, brand: string): boolean {
  const brands = readField(error, brandsKey);
  // Only own brands count, as in the SDK: a polluted prototype must not turn everything into an SDK error.
  if (brands === undefined || !Object.hasOwn(error as object, brandsKey)) return false;
  const { has } = brands as Partial<Set<string>>;
  return typeof has === "function" && has.call(brands, brand);
}

/** Whether an error is of a class with this name. Version 1 of the SDK has no brands and often sets no `name`. */
export function isNamed(error: unknown, name: string): boolean {
  return readField(error, "name") === name || readField(readField(error, "constructor"), "name") === name;
}

const isStatus = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 100 && value <= 599;

/** The HTTP status of an error: `status`, the SDK's `data.status`, or `code` in older classes of the SDK. */
export function httpStatusOf(error: unknown): number | undefined {
  const candidates = [
    readField(error, "status"),
    readField(readField(error, "data"), "status"),
    readField(error, "code"),
  ];
  return candidates.find(isStatus);
}

const MAX_VISITED = 100;

/**
 * Yields an error, its causes and the errors it combines, breadth first and each once. Skips errors that `opaque` accepts,
 * and everything behind them.
 */
export function* walkErrors(error: unknown, opaque?: (error: unknown) => boolean): Generator<unknown> {
  const queue = [error];
  const seen = new Set<unknown>([undefined, null]);
  while (queue.length > 0 && seen.size < MAX_VISITED) {
    const next = queue.shift();
    if (seen.has(next)) continue;
    seen.add(next);
    if (opaque?.(next) === true) continue;
    yield next;
    queue.push(readField(next, "cause"), readField(readField(next, "data"), "cause"));
    for (const key of ["errors", "attempts"]) {
      const several = readField(next, key);
      if (Array.isArray(several)) queue.push(...several.slice(0, MAX_VISITED));
    }
  }
}

/** Statuses of temporary failures. */
const TRANSIENT: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/**
 * Statuses that mean that the request did not run. 404 means that only for a request with a session id. 503 never does, with
 * or without `Retry-After`: proxies send it when an upstream connection broke in the middle of a request.
 */
export const REFUSING_STATUSES: readonly number[] = [401, 403, 405, 406, 413, 415, 429];

/** Whether the server may have run a request that got this status. */
export function outcomeOfStatus(status: number, { inSession }: { inSession: boolean }): Outcome {
  return REFUSING_STATUSES.includes(status) || (status === 404 && inSession) ? "unsent" : "unknown";
}

const ADVICE: Readonly<Record<number, string>> = {
  404: "Check the path of the URL",
  405: "Check the path of the URL, and whether the server supports this transport",
  429: "Call the server less often, or wait",
};

function advise(status: number): string | undefined {
  return ADVICE[status] ?? (status >= 500 ? "Check the log of the server" : undefined);
}

export function fromHttpStatus(status: number, cause: unknown, context: ErrorContext): ToolportError {
  const outcome = context.phase === "connect" ? "unsent" : outcomeOfStatus(status, { inSession: false });
  if (status === 401 || status === 403) {
    const isMissing = status === 401;
    return new AuthError({
      ...context,
      code: isMissing ? "AUTH_REQUIRED" : "FORBIDDEN",
      what: isMissing
        ? "The server requires authorization (HTTP 401)"
        : "The server denied access (HTTP 403)",
      next: isMissing ? "Authorize, or check the token in its headers" : "Request access for this account",
      outcome,
      status,
      cause,
    });
  }
  return new ConnectionError({
    ...context,
    code: "HTTP_STATUS",
    what: `The server answered with HTTP ${status}`,
    next: advise(status),
    retryable: TRANSIENT.includes(status),
    outcome,
    status,
    cause,
  });
}

/** What an error code says about its request. */
interface RpcErrorTraits {
  readonly outcome: Outcome;
  /** A retry can help. */
  readonly retryable: boolean;
}

const NOT_RUN: RpcErrorTraits = { outcome: "unsent", retryable: false };
const UNKNOWN: RpcErrorTraits = { outcome: "unknown", retryable: false };

/**
 * The codes that determine outcome or retry; any other code says nothing. All conversions of JSON-RPC errors use this table,
 * and a test compares `docs/errors.md` with it.
 *
 * Invalid parameters (-32602) and invalid request (-32600) are missing: tools throw them in the middle of their work.
 */
export const RPC_ERRORS: ReadonlyMap<number, RpcErrorTraits> = new Map([
  [-32700, NOT_RUN], // parse error
  [-32601, NOT_RUN], // method not found
  [-32020, NOT_RUN], // headers do not match the body
  [-32021, NOT_RUN], // missing client capability
  [-32022, NOT_RUN], // unsupported protocol revision
  [-32603, { outcome: "unknown", retryable: true }], // internal error
]);

export const traitsOfRpcError = (code: number | undefined): RpcErrorTraits =>
  (code === undefined ? undefined : RPC_ERRORS.get(code)) ?? UNKNOWN;

export function fromRpcError(
  { code, message, data }: { code: number; message: string; data?: unknown },
  cause: unknown,
  context: ErrorContext,
): ToolportError {
  const { outcome, retryable } = traitsOfRpcError(code);
  const text = redactText(message).replace(/[.\s]+$/, "");
  const what = `The server answered with error ${code}${text === "" ? "" : `: ${text}`}`;
  if (context.phase === "connect") {
    return new ConnectionError({
      ...context,
      code: "HANDSHAKE_FAILED",
      what: `The handshake failed. ${what}`,
      retryable,
      outcome: "unsent",
      cause,
    });
  }
  return new ToolCallError({
    ...context,
    code: "PROTOCOL",
    what,
    retryable,
    outcome,
    rpcCode: code,
    rpcMessage: message,
    data,
    cause,
  });
}

interface SystemFailure {
  what: string;
  next?: string;
  /** The request cannot have reached the server. */
  unsent?: boolean;
  /** A retry cannot help before the server's address or certificate changes. */
  permanent?: boolean;
}

const CHECK_HOST = "Check the host name in the URL and the network";

/** The meaning of the codes of Node, its TLS and undici. */
const FAILURES: ReadonlyMap<string, SystemFailure> = new Map(
  (
    [
      [
        "ECONNREFUSED",
        {
          what: "The connection was refused",
          next: "Check that the server is running and that the URL and port are correct",
          unsent: true,
        },
      ],
      ["ENOTFOUND", { what: "The server's host name was not found", next: CHECK_HOST, unsent: true }],
      ["EAI_AGAIN", { what: "The server's host name could not be resolved", next: CHECK_HOST, unsent: true }],
      [
        "EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN EADDRNOTAVAIL",
        { what: "There is no route to the server's host", next: CHECK_HOST, unsent: true },
      ],
      [
        "EMFILE ENFILE",
        {
          what: "Too many files are open to open another connection",
          next: "Raise the limit (ulimit -n), or connect fewer servers at once",
          unsent: true,
        },
      ],
      [
        "UND_ERR_CONNECT_TIMEOUT",
        {
          what: "The server did not accept a connection in time",
          next: "Check that the server's address can be reached from here",
          unsent: true,
        },
      ],
      [
        "ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT",
        { what: "The server did not respond in time" },
      ],
      [
        "ECONNRESET ECONNABORTED EPIPE ENOTCONN ERR_STREAM_PREMATURE_CLOSE ERR_SOCKET_CLOSED ERR_STREAM_DESTROYED " +
          "UND_ERR_SOCKET UND_ERR_CLOSED UND_ERR_DESTROYED UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
        { what: "The connection was lost" },
      ],
      [
        "EPROTO",
        {
          what: "The TLS handshake failed",
          next: "Check whether the URL should start with http: instead of https:",
          unsent: true,
          permanent: true,
        },
      ],
      [
        "ERR_TLS_CERT_ALTNAME_INVALID DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE " +
          "UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY CERT_HAS_EXPIRED CERT_NOT_YET_VALID CERT_REVOKED " +
          "CERT_UNTRUSTED CERT_REJECTED CERT_SIGNATURE_FAILURE CERT_CHAIN_TOO_LONG INVALID_CA INVALID_PURPOSE " +
          "HOSTNAME_MISMATCH",
        {
          what: "The server's TLS certificate was not accepted",
          next: "Check the certificate, or trust its authority with NODE_EXTRA_CA_CERTS",
          unsent: true,
          permanent: true,
        },
      ],
    ] satisfies [string, SystemFailure][]
  ).flatMap(([codes, failure]) => codes.split(" ").map((code): [string, SystemFailure] => [code, failure])),
);

/** Errors of the TLS library have codes of their own. */
const failureOf = (errno: string): SystemFailure | undefined =>
  FAILURES.get(errno.startsWith("ERR_SSL_") ? "EPROTO" : errno);

/** What to do about a system error. */
export const adviceOn = (errno: string): string | undefined => failureOf(errno)?.next;

/** A retry cannot help before the server's address or certificate changes. */
export const isPermanentFailure = (errno: string): boolean => failureOf(errno)?.permanent === true;

const connecting: readonly unknown[] = ["connect", "getaddrinfo"];
/** System calls of an open connection, which can also report a lost route (EHOSTUNREACH) or a TLS alert (EPROTO). */
const transferring: readonly unknown[] = ["read", "write"];

/** Whether the request cannot have reached the server. */
function isUnsent(error: unknown, failure: SystemFailure): boolean {
  const syscall = readField(error, "syscall");
  return connecting.includes(syscall) || (failure.unsent === true && !transferring.includes(syscall));
}

/** Whether the error proves that no connection was established, for HTTP clients that do not report when they send. */
export function isBeforeConnection(error: unknown): boolean {
  const errno = readField(error, "code");
  const failure = typeof errno === "string" ? failureOf(errno) : undefined;
  return failure !== undefined && isUnsent(error, failure);
}

/** Whether the process could not be started. */
const isSpawn = (error: unknown): boolean => {
  const syscall = readField(error, "syscall");
  return typeof syscall === "string" && syscall.startsWith("spawn");
};

function spawnFailure(error: unknown, errno: string, context: ErrorContext): ConnectionError {
  return new ConnectionError({
    ...context,
    code: "SPAWN_FAILED",
    what: errno === "ENOENT" ? "The program was not found" : `The program could not be started (${errno})`,
    next: "Check its command and working directory",
    outcome: "unsent",
    errno,
    cause: error,
  });
}

/** Converts a system failure found in `error` or its causes; undefined if there is none. */
export function fromSystemError(error: unknown, context: ErrorContext): ConnectionError | undefined {
  // A `ToolportError` inside is more specific than its causes.
  for (const found of walkErrors(error, (candidate) => ToolportError.isInstance(candidate))) {
    const errno = readField(found, "code");
    if (typeof errno !== "string") continue;
    if (isSpawn(found)) return spawnFailure(error, errno, context);
    // Codes of the HTTP parser in Node begin with HPE_.
    if (errno.startsWith("HPE_")) {
      return new ConnectionError({
        ...context,
        code: "BAD_RESPONSE",
        what: `The response is not valid HTTP (${errno})`,
        next: "Check that the URL is that of an MCP server",
        outcome: context.phase === "connect" ? "unsent" : "unknown",
        errno,
        cause: error,
      });
    }
    const failure = failureOf(errno);
    if (failure === undefined) continue;
    const outcome: Outcome = isUnsent(found, failure) || context.phase === "connect" ? "unsent" : "unknown";
    const { what, next, permanent } = failure;
    return new ConnectionError({
      ...context,
      code: "UNREACHABLE",
      what: `${what} (${errno})`,
      next,
      retryable: permanent !== true,
      outcome,
      errno,
      cause: error,
    });
  }
  return undefined;
}
