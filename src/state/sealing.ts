/** Seals texts so that they cannot be read, changed or moved without the key: AES-256-GCM, bound to the record's key. */
import { StateError } from "../errors/state-error.js";
import { fromBase64, toBase64 } from "./base64.js";
import type { KeyRing } from "./key-ring.js";

/** The stored form of a sealed text. */
export interface SealedText {
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
  let loading: Promise<KeyRing> | undefined;
  const keys = (): Promise<KeyRing> => {
    loading ??= loadKeys().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
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
