/** Writes plain and secret values to the text of a record, and reads them. */
import { StateError } from "../errors/state-error.js";
import type { SealedText, Sealer } from "./sealing.js";

/** A value as it was read. */
export interface ReadValue {
  value: unknown;
  sealed: boolean;
}

/** The stored text of a value: its JSON, or `{ "$sealed": … }` around its encrypted JSON. */
export async function writeRecordText(
  { key, value, secret }: { key: string; value: unknown; secret: boolean },
  sealer: Sealer,
): Promise<string> {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError("A store accepts JSON values only");
  if (secret) return JSON.stringify({ $sealed: await sealer.seal(key, text) });
  // A plain value with the shape of a marker is wrapped, so that it is read back unchanged.
  return isMarked(value) ? JSON.stringify({ $plain: value }) : text;
}

/** The value of a stored text. */
export async function readRecordText(key: string, text: string, sealer: Sealer): Promise<ReadValue> {
  const stored = parse(text);
  const sealed = sealedPart(stored);
  if (sealed !== undefined) return { value: parse(await sealer.open(key, sealed)), sealed: true };
  return { value: isMarked(stored) ? stored["$plain"] : stored, sealed: false };
}

/** The sealed content of a stored text, if it is sealed. */
export const readSealedText = (text: string): SealedText | undefined => sealedPart(parse(text));

function sealedPart(stored: unknown): SealedText | undefined {
  if (!isMarked(stored) || !Object.hasOwn(stored, "$sealed")) return undefined;
  const sealed = stored["$sealed"] as Partial<Record<keyof SealedText, unknown>> | null;
  const { kid, iv, data } = sealed ?? {};
  if (typeof kid !== "string" || typeof iv !== "string" || typeof data !== "string") throw damaged();
  return { kid, iv, data };
}

function isMarked(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "$sealed") || Object.hasOwn(value, "$plain");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damaged(cause);
  }
}

const damaged = (cause?: unknown): StateError =>
  new StateError({
    code: "CORRUPT",
    what: "A saved record has an unknown format",
    next: "Delete the record; nothing was deleted",
    cause,
  });
