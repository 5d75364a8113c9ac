/** Converts errors of Redis and of its connections into `StateError`s. */
import { isNamed, readField } from "../../../errors/foreign-error.js";
import { StateError, type StateErrorCode } from "../../../errors/state-error.js";
import { plainCause } from "../driver.js";

interface Meaning {
  code: StateErrorCode;
  what: string;
  next?: string;
  retryable?: boolean;
}

const login: Meaning = {
  code: "UNAVAILABLE",
  what: "refused the login",
  next: "Check the user and the password in its URL",
};
const replica: Meaning = {
  code: "UNAVAILABLE",
  what: "does not accept writes at present",
  next: "Use the address of the primary",
  retryable: true,
};
const busy: Meaning = { code: "BUSY", what: "is busy", next: "Try again soon", retryable: true };

/** By the first word of an error reply, which is its code: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const REPLIES: Readonly<Record<string, Meaning>> = {
  WRONGPASS: login,
  NOAUTH: login,
  NOPERM: {
    code: "UNAVAILABLE",
    what: "denies this user a permission that the store needs",
    next: "Grant the user scripts, hashes, sorted sets and publish/subscribe under the prefix of the store",
  },
  READONLY: replica,
  NOREPLICAS: replica,
  MASTERDOWN: replica,
  LOADING: busy,
  BUSY: busy,
  TRYAGAIN: busy,
  OOM: { code: "FULL", what: "has no memory left", next: "Raise its maxmemory, or remove other data" },
  MISCONF: {
    code: "FULL",
    what: "cannot save to its disk and does not accept writes",
    next: "Check its log",
    retryable: true,
  },
};

/** The code of an error reply of Redis; undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  const message = readField(error, "message");
  return isNamed(error, "ReplyError") && typeof message === "string" ? message.split(" ", 1)[0] : undefined;
}

/** Converts any error of a call to `place` into a `StateError`. */
export function toRedisError(error: unknown, place: string): StateError {
  if (error instanceof StateError) return error;
  const reply = replyCode(error);
  const known = reply !== undefined && Object.hasOwn(REPLIES, reply) ? REPLIES[reply] : undefined;
  const { what, ...rest } = known ?? unknownMeaning(error, reply);
  return new StateError({ ...rest, what: `${place} ${what}`, cause: plainCause(error) });
}

function unknownMeaning(error: unknown, reply: string | undefined): Meaning {
  if (reply !== undefined) return { code: "UNAVAILABLE", what: `answered with an error (${reply})` };
  const errno = readField(error, "code");
  const detail = typeof errno === "string" ? ` (${errno})` : "";
  return {
    code: "UNAVAILABLE",
    what: `could not be reached, or the connection was lost${detail}`,
    next: "Check that it is running and that its address is correct",
    retryable: true,
  };
}

/** The error of a call that took too long. */
export const redisTooSlow = (place: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `${place} did not answer in time`,
    next: "Check that it is running and not overloaded",
    retryable: true,
  });
