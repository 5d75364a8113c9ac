/** Failures of the network as `ConnectionError`s that say whether the request can have reached the server. */
import { ConnectionError } from "../../../errors/connection-error.js";
import { isBeforeConnection, isPermanentFailure } from "../../../errors/from-system-error.js";
import { ToolportError } from "../../../errors/toolport-error.js";

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Check that the server is running and that its address and port are right",
  ENOTFOUND: "Check the host name in the server's URL",
  EAI_AGAIN: "Check the name resolution of this machine",
  ENETUNREACH: "Check the network connection of this machine",
  EHOSTUNREACH: "Check the network connection of this machine",
  UND_ERR_CONNECT_TIMEOUT: "Check that the server's address can be reached from here",
  CERT_HAS_EXPIRED: "The server's certificate has to be renewed",
  ERR_TLS_CERT_ALTNAME_INVALID: "The server's certificate is for another host name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "Check the server's certificate, or trust its issuer with NODE_EXTRA_CA_CERTS",
  SELF_SIGNED_CERT_IN_CHAIN: "Check the server's certificate, or trust its issuer with NODE_EXTRA_CA_CERTS",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "Check the server's certificate, or trust its issuer with NODE_EXTRA_CA_CERTS",
  EMFILE: "Raise the limit of open files (ulimit -n), or connect fewer servers at once",
  ENFILE: "This machine has too many files open: end something else first",
  EPROTO: "Check that the server speaks TLS on this port, or use an http: address",
};

/** Bun's codes for a connection that could not be made. */
const BUN_CODES: readonly unknown[] = ["ConnectionRefused", "FailedToOpenSocket"];

type CodedError = Error & { readonly code: string };

/** The error that carries a code, at whatever depth the runtime hides it. */
function codedError(error: unknown): CodedError | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; depth++) {
    const { code, cause, errors } = at as Error & { code?: unknown; errors?: unknown };
    if (typeof code === "string") return at as CodedError;
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}

export interface NetworkFailure {
  /** Host and port, without path and query. */
  readonly host: string;
  /** False when it is known that no byte of the request left; undefined when nobody can tell. */
  readonly sent: boolean | undefined;
}

/** Converts what a network client threw. An error of ours passes as it is. */
export function toNetworkError(error: unknown, { host, sent }: NetworkFailure): ToolportError {
  if (ToolportError.isInstance(error)) return error;
  const coded = codedError(error);
  const errno = coded?.code;
  const unsent = sent === undefined ? isBeforeConnection(coded) || BUN_CODES.includes(errno) : !sent;
  const reason = errno === undefined ? "" : ` (${errno})`;
  return new ConnectionError({
    code: "UNREACHABLE",
    what: unsent ? `${host} cannot be reached${reason}` : `The connection to ${host} broke${reason}`,
    next: errno === undefined ? undefined : ADVICE[errno],
    errno,
    // A certificate does not get better by trying again.
    retryable: errno === undefined || !isPermanentFailure(errno),
    outcome: unsent ? "unsent" : "unknown",
    cause: error,
  });
}

/** For whoever asks a client that was closed, or was waiting for it. */
export function clientClosed(unsent: boolean, cause?: unknown): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    what: "The network client was closed",
    outcome: unsent ? "unsent" : "unknown",
    cause,
  });
}

/** Nobody said no, and nobody said yes. */
export function connectTimedOut(host: string, timeoutMs: number): ConnectionError {
  return new ConnectionError({
    code: "UNREACHABLE",
    what: `${host} did not accept a connection in ${timeoutMs} ms`,
    next: ADVICE["UND_ERR_CONNECT_TIMEOUT"],
    errno: "ETIMEDOUT",
    retryable: true,
    outcome: "unsent",
  });
}
