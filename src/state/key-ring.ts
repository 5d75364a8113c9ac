/** The keys of a store: the current one seals, older ones still open existing records. */
import { StateError } from "../errors/state-error.js";
import { fromBase64, toBase64 } from "./base64.js";

/** 32 bytes, or the same as base64 or as 64 hexadecimal digits. A string may contain several, separated by commas. */
export type StoreKey = string | Uint8Array;

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Keys by their ids. */
export interface KeyRing {
  /** Id of the key that seals new values. */
  readonly currentId: string;
  /** Ids of all keys, the current one first. */
  readonly ids: readonly string[];
  find(id: string): CryptoKey | undefined;
}

const KEY_BYTES = 32;

/** A new random key as base64. */
export const createStoreKey = (): string => toBase64(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));

/**
 * Creates a ring of one key or several: the first seals, all of them open.
 *
 * @example
 * ```ts
 * const ring = await createKeyRing([newKey, oldKey]);
 * ```
 */
export async function createKeyRing(keys: StoreKey | readonly StoreKey[]): Promise<KeyRing> {
  const list = Array.isArray(keys) ? (keys as readonly StoreKey[]) : [keys as StoreKey];
  const entries = await Promise.all(list.flatMap(listedKeys).map(importKey));
  const [first] = entries;
  if (first === undefined) throw unusable("The list of keys of the store is empty");
  const byId = new Map(entries);
  return { currentId: first[0], ids: [...byId.keys()], find: (id) => byId.get(id) };
}

/** An environment variable contains several keys as one string. */
const listedKeys = (key: StoreKey): StoreKey[] =>
  typeof key === "string" ? key.split(",").filter((text) => text.trim() !== "") : [key];

async function importKey(key: StoreKey): Promise<[id: string, key: CryptoKey]> {
  const bytes = readKey(key);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const id = Array.from(digest.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [id, await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"])];
}

function readKey(key: StoreKey): Uint8Array<ArrayBuffer> {
  // A number would be used as a length, and create a key of zeros.
  const given = ArrayBuffer.isView(key) ? new Uint8Array(key) : undefined;
  const bytes = typeof key === "string" ? readKeyText(key.trim()) : given;
  if (bytes?.length !== KEY_BYTES) throw unusable("A key of the store is not 32 bytes long");
  return bytes;
}

function readKeyText(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[0-9a-f]{64}$/i.test(text)) return fromBase64(text);
  return Uint8Array.from({ length: KEY_BYTES }, (_, index) =>
    Number.parseInt(text.slice(2 * index, 2 * index + 2), 16),
  );
}

const unusable = (what: string): StateError =>
  new StateError({
    code: "KEY_MISMATCH",
    what,
    next: "Use 32 random bytes as base64 or hexadecimal digits, for instance from `openssl rand -base64 32`",
  });
