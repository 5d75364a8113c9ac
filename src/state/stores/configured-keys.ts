/** Keys that the user configured: in code, or in the environment. */
import { createKeyRing, type StoreKey } from "../key-ring.js";
import { createSealer, keylessSealer, type Sealer } from "../sealing.js";

/** Environment variable with one key, or several separated by commas: the first seals, all of them open. */
export const KEY_VARIABLE = "TOOLPORT_STORE_KEY";

/** One key, or several of which the first seals. */
export type StoreKeys = StoreKey | readonly StoreKey[];

/** The keys given as an option, else those of the environment, else undefined. */
export function configuredKeys(key: StoreKeys | undefined): StoreKeys | undefined {
  if (key !== undefined) return key;
  return process.env[KEY_VARIABLE]?.replace(/[\s,]+$/, "") || undefined;
}

/** For a database that several machines share: the key has to be configured, because no process can generate one for all of them. */
export function configuredSealer(key: StoreKeys | undefined): Sealer {
  const keys = configuredKeys(key);
  if (keys !== undefined) return createSealer(() => createKeyRing(keys));
  return keylessSealer(
    `Set the same key for all processes: the option \`key\`, or ${KEY_VARIABLE} (for instance from \`openssl rand -base64 32\`)`,
  );
}
