/** Loads database drivers when they are needed, and removes secrets from their errors. */
import { readField } from "../../errors/foreign-error.js";
import { StateError } from "../../errors/state-error.js";
import { redactText } from "../../util/redact-text.js";

/** Loads an optional package; the error for a missing one says how to install it. */
export async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new StateError({
      code: "UNAVAILABLE",
      what: `The store needs the package ${name}, which could not be loaded`,
      next: `Run \`npm install ${name}\``,
      cause: error,
    });
  }
}

/**
 * Copies an error of a driver without its properties: some contain the arguments of the command (a password,
 * a stored value) or the affected row.
 */
export function plainCause(error: unknown): Error | undefined {
  const [message, code] = [readField(error, "message"), readField(error, "code")];
  if (typeof message !== "string") return undefined;
  const cause = new Error(redactText(message));
  return typeof code === "string" ? Object.assign(cause, { code }) : cause;
}
