/** Converts errors of the operating system, TLS and HTTP clients by their `code`. */
import { ConnectionError } from "./connection-error.js";
import { readField, walkErrors } from "./foreign-error.js";
import { type ErrorContext, type Outcome, ToolportError } from "./toolport-error.js";

interface SystemFailure {
  what: string;
  next?: string;
  /** The request cannot have reached the server. */
  unsent?: boolean;
  /** A retry cannot help before the server's address or certificate changes. */
  permanent?: boolean;
}

const CHECK_HOST = "Check the host name in the URL and the network";
const lost: SystemFailure = { what: "The connection was lost" };
const slow: SystemFailure = { what: "The server did not respond in time" };
const noRoute: SystemFailure = {
  what: "There is no route to the server's host",
  next: CHECK_HOST,
  unsent: true,
};
const tooManyFiles: SystemFailure = {
  what: "Too many files are open to open another connection",
  next: "Raise the limit (ulimit -n), or connect fewer servers at once",
  unsent: true,
};
const certificate: SystemFailure = {
  what: "The server's TLS certificate was not accepted",
  next: "Check the certificate, or trust its authority with NODE_EXTRA_CA_CERTS",
  unsent: true,
  permanent: true,
};

const FAILURES: Readonly<Record<string, SystemFailure>> = {
  ECONNREFUSED: {
    what: "The connection was refused",
    next: "Check that the server is running and that the URL and port are correct",
    unsent: true,
  },
  ENOTFOUND: { what: "The server's host name was not found", next: CHECK_HOST, unsent: true },
  EAI_AGAIN: { what: "The server's host name could not be resolved", next: CHECK_HOST, unsent: true },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EHOSTDOWN: noRoute,
  ENETDOWN: noRoute,
  EADDRNOTAVAIL: noRoute,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  UND_ERR_CONNECT_TIMEOUT: { what: "The server did not accept a connection in time", unsent: true },
  ETIMEDOUT: slow,
  ESOCKETTIMEDOUT: slow,
  UND_ERR_HEADERS_TIMEOUT: slow,
  UND_ERR_BODY_TIMEOUT: slow,
  ECONNRESET: lost,
  ECONNABORTED: lost,
  EPIPE: lost,
  ENOTCONN: lost,
  ERR_STREAM_PREMATURE_CLOSE: lost,
  ERR_SOCKET_CLOSED: lost,
  ERR_STREAM_DESTROYED: lost,
  UND_ERR_SOCKET: lost,
  UND_ERR_CLOSED: lost,
  UND_ERR_DESTROYED: lost,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: lost,
  EPROTO: {
    what: "The TLS handshake failed",
    next: "Check whether the URL should start with http: instead of https:",
    unsent: true,
    permanent: true,
  },
  ERR_TLS_CERT_ALTNAME_INVALID: certificate,
  DEPTH_ZERO_SELF_SIGNED_CERT: certificate,
  SELF_SIGNED_CERT_IN_CHAIN: certificate,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: certificate,
  UNABLE_TO_GET_ISSUER_CERT: certificate,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: certificate,
  CERT_HAS_EXPIRED: certificate,
  CERT_NOT_YET_VALID: certificate,
  CERT_REVOKED: certificate,
  CERT_UNTRUSTED: certificate,
  CERT_REJECTED: certificate,
  CERT_SIGNATURE_FAILURE: certificate,
  CERT_CHAIN_TOO_LONG: certificate,
  INVALID_CA: certificate,
  INVALID_PURPOSE: certificate,
  HOSTNAME_MISMATCH: certificate,
};

const failureOf = (errno: string): SystemFailure | undefined => {
  // Errors of the TLS library.
  if (errno.startsWith("ERR_SSL_")) return FAILURES["EPROTO"];
  return Object.hasOwn(FAILURES, errno) ? FAILURES[errno] : undefined;
};

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
