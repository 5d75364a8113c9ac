/** The public keys of the issuer: fetched when an unknown key is named, one request at a time, kept while the key server is away. */
import type { CryptoKey, FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters } from "jose";
import { isRecord } from "../../util/json.js";

/** Finds the key of a token. @throws KeysUnavailable, or an error of `jose` if the issuer has no such key */
export type KeySource = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** The key of a token is not known, and the key server cannot be asked now. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
  /** When it can be asked again. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super("The keys of the issuer cannot be read now");
    this.retryAfterMs = retryAfterMs;
  }
}

export interface RemoteKeys {
  /** Reads the key set. */
  readonly read: () => Promise<JSONWebKeySet>;
  readonly now: () => number;
  readonly warn: (message: string) => void;
}

/** At most one request in this time, however many unknown keys are named. */
const COOLDOWN_MS = 5_000;
/** Keys that are older are read again, while the old ones serve on: the issuer may have withdrawn one. */
const FRESH_MS = 600_000;

/** Keys that never change. */
export function fixedKeys(keys: JSONWebKeySet): KeySource {
  let find: Promise<KeySource> | undefined;
  return async (header, token) => {
    find ??= toSource(keys);
    return (await find)(header, token);
  };
}

/** Keys of a key server. */
export function remoteKeys({ read, now, warn }: RemoteKeys): KeySource {
  let known: KeySource | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    triedAt = now();
    try {
      known = await toSource(await read());
      readAt = now();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) {
        const why = error instanceof Error ? error.message : String(error);
        const effect = known === undefined ? "Requests get 503" : "The known keys stay in use";
        warn(`The keys of the issuer cannot be read: ${why}. ${effect} until it responds.`);
      }
      hasFailed = true;
    }
  }

  const mayAsk = () => now() - triedAt >= COOLDOWN_MS;
  const ask = (): Promise<void> => {
    reading ??= refresh().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const unavailable = () => new KeysUnavailable(Math.max(0, triedAt + COOLDOWN_MS - now()));

  return async (header, token) => {
    const old = known;
    if (old !== undefined) {
      if (now() - readAt >= FRESH_MS && mayAsk()) void ask();
      try {
        return await old(header, token);
      } catch (error) {
        if (!isUnknownKey(error)) throw error;
      }
    }
    if (reading !== undefined || mayAsk()) await ask();
    if (known === undefined || (known === old && hasFailed)) throw unavailable();
    return known(header, token);
  };
}

const isUnknownKey = (error: unknown): boolean =>
  isRecord(error) && error["code"] === "ERR_JWKS_NO_MATCHING_KEY";

async function toSource(keys: JSONWebKeySet): Promise<KeySource> {
  const { createLocalJWKSet } = await import("jose");
  return createLocalJWKSet(keys);
}
