/** The records by which replicas talk to each other: their keys, their contents, and the errors of a letter. */
import { ToolportError } from "../../errors/toolport-error.js";
import type { StoredRecord } from "../../state/store.js";

export type LetterErrorCode =
  /** The replica did not take the letter and never will: it has ended. */
  | "UNDELIVERABLE"
  /** The replica does not expect a letter with this id for this principal. No handler ran. */
  | "UNKNOWN_LETTER"
  /** The replica took the letter and ended, or takes too long. It may have run. */
  | "REPLICA_LOST"
  /** The replica handled the letter with an error. */
  | "LETTER_FAILED";

/**
 * Thrown when a replica cannot hand work over to another one. Its outcome is always unknown: even if the letter was not
 * delivered, the call that it belongs to may have run.
 */
export class LetterError extends ToolportError<LetterErrorCode> {
  static override readonly kind = "LetterError";
  override readonly name = "LetterError";
}

const FORMAT = 1;

/** One record goes through these states; only the owner changes it after it was sent. */
export type Letter =
  | {
      readonly kind: "request";
      readonly id: string;
      readonly principal: string | null;
      readonly body: unknown;
    }
  /** The owner works on it. */
  | { readonly kind: "accepted" }
  | { readonly kind: "reply"; readonly value: unknown }
  /** The owner does not know the id. */
  | { readonly kind: "unknown" }
  | { readonly kind: "failed"; readonly message: string };

/** The prefix of all letters. */
export const MAIL = "serve/mail/";

/** The record of a letter to a replica. */
export const letterKey = (to: string, letter: string): string => `${MAIL}${to}/${letter}`;

/** Exists for a short time after a replica said that it still works on letters. */
export const beatKey = (replica: string): string => `${MAIL}${replica}/beat`;

const CANCEL = "/cancel";

/** Its notice says that the sender of a letter no longer waits. */
export const cancelKey = (letter: string): string => letter + CANCEL;

/** The letter whose sender no longer waits; undefined if the key is not that of a {@link cancelKey}. */
export const cancelledLetter = (key: string): string | undefined =>
  key.endsWith(CANCEL) ? key.slice(0, -CANCEL.length) : undefined;

export const writeLetter = (letter: Letter): unknown => ({ format: FORMAT, ...letter });

/**
 * The content of a record; undefined if a newer version wrote it. A record without the store's seal was not written by a
 * replica.
 */
export function readLetter({ value, sealed }: StoredRecord): Letter | undefined {
  const letter = (value ?? {}) as Letter & { format?: unknown };
  return sealed && letter.format === FORMAT ? letter : undefined;
}
