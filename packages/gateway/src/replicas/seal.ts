/** Seals values that clients carry between replicas (session ids, cursors, task ids, states): encrypted, bound to a purpose, synchronous. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { getOrMake, isRecord, oncePerObject } from "@toolport/base";
import type { GatewayKey, GatewayKeys } from "./gateway-key.js";

/** Seals and opens values for all replicas of one gateway. */
export type Seal = ReturnType<typeof createSeal>;

/** First byte of every sealed text. A version with another format opens none of this one, and says so instead of failing. */
const FORMAT = 1;
const ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Format byte and key id: authenticated, not encrypted. */
const HEAD_BYTES = 1 + ID_BYTES;
const OVERHEAD_BYTES = HEAD_BYTES + IV_BYTES + TAG_BYTES;
/** How far the clocks of two replicas may differ. */
const CLOCK_SKEW_MS = 60_000;

const ALGORITHM = "aes-256-gcm";

/**
 * A seal under the keys of a gateway.
 *
 * @example
 * ```ts
 * const seal = createSeal(await loadGatewayKeys(store));
 * const id = seal.seal("session", { principal, exp: Date.now() + 3_600_000 });
 * seal.open("session", id); // { principal, exp }
 * seal.open("cursor", id); // undefined
 * ```
 */
export function createSeal(keys: Pick<GatewayKeys, "current" | "find" | "isRetired" | "refresh">) {
  /** By purpose. Purposes are constants of the code, so the maps are small. */
  const subkeys = oncePerObject((_: GatewayKey) => new Map<string, KeyObject>());

  /** A key for one purpose, so that a text cannot be used for another. */
  const subkey = (key: GatewayKey, info: string): KeyObject =>
    getOrMake(subkeys(key), info, () =>
      createSecretKey(Buffer.from(hkdfSync("sha256", key.secret, "", `toolport/serve/${info}`, 32))),
    );

  const seal = (purpose: string, value: unknown): string => {
    const plain = JSON.stringify(value) as string | undefined;
    if (plain === undefined) throw new TypeError("Only JSON values can be sealed");
    const key = keys.current();
    const head = Buffer.from([FORMAT, ...Buffer.from(key.id, "hex")]);
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, subkey(key, `seal/${purpose}`), iv).setAAD(head);
    const parts = [head, iv, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString("base64url");
  };

  const open = (purpose: string, text: string): unknown => {
    const bytes = readBytes(text);
    const key = bytes && keys.find(keyIdOf(bytes));
    if (bytes === undefined || key === undefined || keys.isRetired(key)) return undefined;
    const value = decrypt(bytes, subkey(key, `seal/${purpose}`));
    return isExpired(value) ? undefined : value;
  };

  return {
    /**
     * Encrypts a JSON value. If it is an object with a number `exp` (milliseconds since 1970), it cannot be opened after that time.
     *
     * @returns base64url text, different on every call
     */
    seal,
    /**
     * The sealed value; undefined if the text was not sealed for this purpose by a replica of this gateway, was changed, has an unknown
     * format, or is expired. Clocks of replicas may differ by a minute.
     */
    open,
    /** Like `open`; if the key is unknown, reads the keys from the store first, at most once a second. */
    async openFresh(purpose: string, text: string): Promise<unknown> {
      const value = open(purpose, text);
      if (value !== undefined) return value;
      const bytes = readBytes(text);
      if (bytes === undefined || keys.find(keyIdOf(bytes)) !== undefined) return undefined;
      await keys.refresh();
      return open(purpose, text);
    },
    /**
     * A keyed hash (HMAC-SHA-256) of a text, as `<key id>.<base64url>`.
     *
     * @param like an earlier hash: its key is used, so that equal texts have equal hashes after a rotation. Returns "" if that key is
     * unknown.
     */
    mac(purpose: string, text: string, like?: string): string {
      const key = like === undefined ? keys.current() : keys.find(like.slice(0, like.indexOf(".")));
      if (key === undefined) return "";
      const hmac = createHmac("sha256", subkey(key, `mac/${purpose}`)).update(text);
      return `${key.id}.${hmac.digest("base64url")}`;
    },
  };
}

const keyIdOf = (bytes: Buffer): string => bytes.toString("hex", 1, HEAD_BYTES);

/**
 * The bytes of a text of this format. Only the exact text that was sealed is accepted: Node also decodes texts with other
 * characters between, and two texts for one session id would undo the end of a session.
 */
function readBytes(text: string): Buffer | undefined {
  if (typeof text !== "string" || text.length < OVERHEAD_BYTES) return undefined;
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length < OVERHEAD_BYTES || bytes[0] !== FORMAT) return undefined;
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function decrypt(bytes: Buffer, key: KeyObject): unknown {
  const body = HEAD_BYTES + IV_BYTES;
  const end = bytes.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(HEAD_BYTES, body), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(bytes.subarray(0, HEAD_BYTES)).setAuthTag(bytes.subarray(end));
    const plain = decipher.update(bytes.subarray(body, end), undefined, "utf8") + decipher.final("utf8");
    return JSON.parse(plain);
  } catch {
    return undefined;
  }
}

const isExpired = (value: unknown): boolean =>
  isRecord(value) && typeof value["exp"] === "number" && isPast(value["exp"]);

/** Whether a time that any replica has set is over. */
export const isPast = (expiresAt: number): boolean => expiresAt + CLOCK_SKEW_MS < Date.now();
