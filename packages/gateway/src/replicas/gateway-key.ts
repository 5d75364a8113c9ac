/** The keys that all replicas of a gateway share: created once, saved encrypted in the store, rotated while replicas run. */
import { randomBytes } from "node:crypto";
import { ConfigError, StateError } from "@toolport/base";
import type { Store } from "@toolport/stores";

/** One secret of a gateway. */
export interface GatewayKey {
  /** 8 hexadecimal digits, random. */
  readonly id: string;
  /** 32 random bytes. */
  readonly secret: Uint8Array;
  /** From this time on the key seals, until a newer key does. Milliseconds since 1970. */
  readonly activeAt: number;
}

/** The keys of a gateway, as this process knows them. */
export type GatewayKeys = Awaited<ReturnType<typeof loadGatewayKeys>>;

/** Where the keys are saved. */
export const GATEWAY_KEYS_RECORD = "serve/keys";

const FORMAT = 1;
const SECRET_BYTES = 32;
/** Replicas learn of a new key in 2 s; the rest covers clocks that differ by a minute. */
const ACTIVATION_DELAY_MS = 120_000;
/** Longer than anything sealed is valid. */
const RETIREMENT_MS = 7 * 86_400_000;
/** A key that is older is replaced when a replica starts. AES-GCM with random nonces is safe for 2^32 texts of one key. */
const ROTATE_AFTER_MS = 30 * 86_400_000;
const REFRESH_EVERY_MS = 1_000;
/** Attempts to write the record while other replicas write it too. */
const MAX_CONFLICTS = 20;

interface SavedKey {
  id: string;
  secret: string;
  activeAt: number;
}

/** Unknown fields of a newer version are kept when this one writes the record. */
interface SavedKeys {
  format: typeof FORMAT;
  /** The newest first. */
  keys: SavedKey[];
}

/**
 * Reads the keys of the gateway, or creates the first one. All replicas with the same store get the same keys.
 *
 * @example
 * ```ts
 * const keys = await loadGatewayKeys(store);
 * const seal = createSeal(keys);
 * ```
 */
export async function loadGatewayKeys(store: Store) {
  let saved = await readOrCreate(store);
  let ring = toRing(saved, []);
  let refreshing: Promise<void> | undefined;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const adopt = (found: SavedKeys): void => {
    saved = found;
    ring = toRing(found, ring);
  };

  const readAgain = async (): Promise<void> => {
    const found = await readKeys(store);
    if (found !== undefined) return adopt(found);
    // The database lost its records. Sessions and states stay valid if all replicas keep the keys they have.
    await store.put(GATEWAY_KEYS_RECORD, saved, { ifVersion: 0, secret: true });
    adopt((await readKeys(store)) ?? saved);
  };

  const refresh = (): Promise<void> => {
    if (refreshing === undefined && !isClosed && performance.now() - refreshedAt >= REFRESH_EVERY_MS) {
      refreshedAt = performance.now();
      refreshing = readAgain()
        .catch(() => {})
        .finally(() => {
          refreshing = undefined;
        });
    }
    return refreshing ?? Promise.resolve();
  };

  const rotate = async ({ delayMs = ACTIVATION_DELAY_MS } = {}): Promise<void> => {
    for (let attempt = 0; attempt < MAX_CONFLICTS; attempt++) {
      const record = await store.get(GATEWAY_KEYS_RECORD);
      const before = record === undefined ? saved : checkSaved(record);
      const next = { ...before, keys: [createKey(Date.now() + delayMs), ...before.keys] };
      if ((await write(store, next, record?.version ?? 0)) === undefined) continue;
      return adopt(next);
    }
    throw contended();
  };

  // A change by another replica is read even if the last reading was just now: it may be older than the change.
  const stopWatching = store.watch(GATEWAY_KEYS_RECORD, (key) => {
    if (key === GATEWAY_KEYS_RECORD && !isClosed) void readAgain().catch(() => {});
  });

  const keys = {
    /** The key that seals now. */
    current: () => activeKey(ring),
    /** The key with this id, for texts that another replica or an earlier start sealed. An unknown id makes the process read the keys again in the background, at most once a second. */
    find(id: string): GatewayKey | undefined {
      const key = ring.find((each) => each.id === id);
      if (key === undefined) void refresh();
      return key;
    },
    /** The key was replaced so long ago that nothing valid can be sealed with it. It still verifies audit logs. */
    isRetired(key: GatewayKey): boolean {
      const newer = ring[ring.indexOf(key) - 1];
      return newer !== undefined && newer.activeAt + RETIREMENT_MS < Date.now();
    },
    /** Reads the keys again, at most once a second. Never rejects: without the store the known keys stay. */
    refresh,
    /** Adds a key. It seals after `delayMs`, so that every replica knows it by then, even with clocks a minute apart. */
    rotate,
    /** Stops following the store. */
    close(): void {
      isClosed = true;
      stopWatching();
    },
  };
  // Several replicas that start at once may each add a key, which does no harm.
  if (Date.now() - ring[0]!.activeAt > ROTATE_AFTER_MS) await rotate().catch(() => {});
  return keys;
}

/** The newest key whose time has come. The oldest is used if no clock agrees that any has begun. */
function activeKey(ring: readonly GatewayKey[]): GatewayKey {
  const now = Date.now();
  return ring.find((key) => key.activeAt <= now) ?? ring[ring.length - 1]!;
}

async function readOrCreate(store: Store): Promise<SavedKeys> {
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt++) {
    const found = await readKeys(store);
    if (found !== undefined) return found;
    const created: SavedKeys = { format: FORMAT, keys: [createKey(Date.now())] };
    if ((await write(store, created, 0)) !== undefined) return created;
  }
  throw contended();
}

async function readKeys(store: Store): Promise<SavedKeys | undefined> {
  const record = await store.get(GATEWAY_KEYS_RECORD).catch(explainMissingKey);
  return record === undefined ? undefined : checkSaved(record);
}

const write = (store: Store, value: SavedKeys, ifVersion: number): Promise<number | undefined> =>
  store.put(GATEWAY_KEYS_RECORD, value, { ifVersion, secret: true }).catch(explainMissingKey);

/** A record that is not sealed was written without the store's key, for instance by an attacker with access to the database. */
function checkSaved({ value, sealed }: { value: unknown; sealed: boolean }): SavedKeys {
  const { format, keys } = (value ?? {}) as Partial<SavedKeys>;
  if (!sealed || format !== FORMAT || !Array.isArray(keys) || keys.length === 0 || !keys.every(isSavedKey)) {
    throw new StateError({
      code: "CORRUPT",
      what: `The record ${GATEWAY_KEYS_RECORD} of the store is not a list of gateway keys that this version can read`,
      next: "Run the same version of Toolport on all replicas, or delete the record: clients then have to start new sessions",
    });
  }
  return value as SavedKeys;
}

function isSavedKey(key: unknown): key is SavedKey {
  const { id, secret, activeAt } = (key ?? {}) as Partial<Record<keyof SavedKey, unknown>>;
  if (typeof id !== "string" || !/^[0-9a-f]{8}$/.test(id)) return false;
  if (typeof secret !== "string" || typeof activeAt !== "number") return false;
  return Buffer.from(secret, "base64").length === SECRET_BYTES;
}

const createKey = (activeAt: number): SavedKey => ({
  id: randomBytes(4).toString("hex"),
  secret: randomBytes(SECRET_BYTES).toString("base64"),
  activeAt,
});

/** Keys that did not change stay the same objects: what was derived from them is kept by object. */
const toRing = ({ keys }: SavedKeys, before: readonly GatewayKey[]): GatewayKey[] =>
  keys.map(({ id, secret, activeAt }) => {
    const bytes = Buffer.from(secret, "base64");
    const known = before.find(
      (key) => key.id === id && key.activeAt === activeAt && bytes.equals(key.secret),
    );
    return known ?? { id, secret: bytes, activeAt };
  });

function explainMissingKey(error: unknown): never {
  if (!StateError.isInstance(error) || error.code !== "KEY_MISMATCH") throw error;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `The gateway cannot save or read its keys: ${error.what}`,
    next: "Set TOOLPORT_STORE_KEY to the same value on all replicas (for instance from `openssl rand -base64 32`), or the option `key` of the store",
    cause: error,
  });
}

const contended = (): StateError =>
  new StateError({
    code: "BUSY",
    what: `Other processes keep changing the record ${GATEWAY_KEYS_RECORD} of the store`,
    next: "Try again",
    retryable: true,
  });
