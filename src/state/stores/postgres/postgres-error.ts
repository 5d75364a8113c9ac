/** Converts errors of PostgreSQL and of its connections into `StateError`s. */
import { readField } from "../../../errors/foreign-error.js";
import { StateError, type StateErrorCode } from "../../../errors/state-error.js";
import { plainCause } from "../driver.js";

interface Meaning {
  code: StateErrorCode;
  what: string;
  next?: string;
  retryable?: boolean;
}

const busy: Meaning = { code: "BUSY", what: "is busy", next: "Try again soon", retryable: true };
const full: Meaning = { code: "FULL", what: "has no space left", next: "Check its disk and memory" };
const corrupt: Meaning = { code: "CORRUPT", what: "reports damaged data", next: "Check its log" };
const login: Meaning = {
  code: "UNAVAILABLE",
  what: "refused the login",
  next: "Check the user, the password and the database in its URL",
};

/** By SQLSTATE, or by its first two characters: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const STATES: Readonly<Record<string, Meaning>> = {
  "25006": {
    code: "UNAVAILABLE",
    what: "does not accept writes at present",
    next: "Use the address of the primary",
    retryable: true,
  },
  "42501": {
    code: "UNAVAILABLE",
    what: "denies this user a permission that the store needs",
    next: "Grant the user the right to create and use the tables of the store",
  },
  "53300": busy,
  "55P03": busy,
  "57014": busy,
  "57P03": busy,
  "3D": login,
  "28": login,
  "40": busy,
  "53": full,
  XX: corrupt,
};

const sqlState = (error: unknown): string | undefined => {
  const code = readField(error, "code");
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
};

/** The tables no longer exist. */
export const isTableMissing = (error: unknown): boolean => sqlState(error) === "42P01";

/** Converts any error of a call to `place` into a `StateError`. */
export function toPostgresError(error: unknown, place: string): StateError {
  if (error instanceof StateError) return error;
  const state = sqlState(error);
  const known = state === undefined ? undefined : (STATES[state] ?? STATES[state.slice(0, 2)]);
  const { what, ...rest } = known ?? unknownMeaning(error, state);
  return new StateError({ ...rest, what: `${place} ${what}`, cause: plainCause(error) });
}

function unknownMeaning(error: unknown, state: string | undefined): Meaning {
  // Class 57 is an operator's shutdown, 08 a broken connection: both count as an unreachable server.
  if (state !== undefined && !["57", "08"].includes(state.slice(0, 2))) {
    return {
      code: "UNAVAILABLE",
      what: `answered with an error (${state})`,
      retryable: isTableMissing(error),
    };
  }
  const code = readField(error, "code");
  const detail = typeof code === "string" ? ` (${code})` : "";
  return {
    code: "UNAVAILABLE",
    what: `could not be reached, or the connection was lost${detail}`,
    next: "Check that it is running and that its address is correct",
    retryable: true,
  };
}

/** The error of a call that took too long. */
export const postgresTooSlow = (place: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `${place} did not answer in time`,
    next: "Check that it is running and not overloaded",
    retryable: true,
  });
