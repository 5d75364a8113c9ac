/** Seals texts so that they cannot be read, changed or moved without the key: AES-256-GCM, bound to the record's key. */
import { fromBase64, loadOnce, StateError, toBase64 } from "@toolport/base";

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

/** The stored form of a sealed text. */
interface SealedText {
  /** Id of the key that sealed it. */
  kid: string;
  iv: string;
  data: string;
}

/** Seals and opens the texts of one store. */
export interface Sealer {
  /** False if it only marks secrets without encrypting them. */
  readonly encrypts: boolean;
  seal(recordKey: string, text: string): Promise<SealedText>;
  /** Throws `KEY_MISMATCH` if the key is missing, `CORRUPT` if the value was changed or moved. */
  open(recordKey: string, sealed: SealedText): Promise<string>;
  /** False for values that an older key sealed. */
  isCurrent(sealed: SealedText): Promise<boolean>;
}

/** Length of the nonce of GCM. */
const IV_BYTES = 12;

/** Creates a sealer. The key ring is loaded on first use; after a failure the next call tries again. */
export function createSealer(loadKeys: () => Promise<KeyRing>): Sealer {
  const keys = loadOnce(loadKeys);
  return {
    encrypts: true,
    async seal(recordKey, text) {
      const ring = await keys();
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const key = ring.find(ring.currentId)!;
      const data = await crypto.subtle.encrypt(
        parameters(iv, recordKey),
        key,
        new TextEncoder().encode(text),
      );
      return { kid: ring.currentId, iv: toBase64(iv), data: toBase64(new Uint8Array(data)) };
    },
    async open(recordKey, { kid, iv, data }) {
      const ring = await keys();
      const key = ring.find(kid);
      if (key === undefined) throw unknownKey(kid, ring.ids);
      const [ivBytes, bytes] = [fromBase64(iv), fromBase64(data)];
      if (ivBytes === undefined || bytes === undefined) throw changed(kid);
      try {
        const text = await crypto.subtle.decrypt(parameters(ivBytes, recordKey), key, bytes);
        return new TextDecoder().decode(text);
      } catch (cause) {
        throw changed(kid, cause);
      }
    },
    async isCurrent({ kid }) {
      return (await keys()).currentId === kid;
    },
  };
}

/** Id for "no key". */
export const UNKEYED = "none";

/** For a store that only this program can reach: marks secrets without encrypting them. */
export const unkeyedSealer: Sealer = {
  encrypts: false,
  seal: async (_recordKey, text) => ({ kid: UNKEYED, iv: "", data: text }),
  open: async (_recordKey, { kid, data }) => {
    if (kid !== UNKEYED) throw unknownKey(kid, []);
    return data;
  },
  isCurrent: async () => true,
};

/** For such a store that got a key later: marked values stay readable until they are sealed. */
export const withUnkeyed = (sealer: Sealer): Sealer => ({
  encrypts: sealer.encrypts,
  seal: sealer.seal,
  open: (recordKey, sealed) => (sealed.kid === UNKEYED ? unkeyedSealer : sealer).open(recordKey, sealed),
  isCurrent: async (sealed) => sealed.kid !== UNKEYED && sealer.isCurrent(sealed),
});

/** For a store without a key: everything works except secrets. */
export const keylessSealer = (next: string): Sealer =>
  createSealer(() =>
    Promise.reject(
      new StateError({
        code: "KEY_MISMATCH",
        what: "The store has no key to encrypt secret values with",
        next,
      }),
    ),
  );

const parameters = (iv: Uint8Array<ArrayBuffer>, recordKey: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: new TextEncoder().encode(recordKey),
});

/** A store without a key has records that are sealed. */
export const lostKey = (): StateError =>
  new StateError({
    code: "KEY_MISMATCH",
    what: "Saved values are encrypted, but the store has no key",
    next: "Set the key again (option `key` or TOOLPORT_STORE_KEY); nothing was deleted, and nothing is saved unencrypted",
  });

const unknownKey = (kid: string, ids: readonly string[]): StateError =>
  new StateError({
    code: "KEY_MISMATCH",
    what: `A saved value was encrypted with the key ${kid}, this store has ${ids.length === 0 ? "no key" : ids.join(", ")}`,
    next: "Add the missing key after the current one (option `key` or TOOLPORT_STORE_KEY, separated by commas); nothing was deleted",
  });

const changed = (kid: string, cause?: unknown): StateError =>
  new StateError({
    code: "CORRUPT",
    what: `A saved value encrypted with the key ${kid} was damaged, changed or moved`,
    next: "Delete the record and authorize or add the server again; nothing was deleted",
    cause,
  });

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
export async function readRecordText(key: string, text: string, sealer: Sealer) {
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
