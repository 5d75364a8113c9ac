/** Finds the keys of a store on this machine: configured ones, else its key file and the keychain; creates a key at first use. */
import { StateError } from "../../../errors/state-error.js";
import { createKeyRing, createStoreKey, type KeyRing, type StoreKey } from "../../key-ring.js";
import { configuredKeys, KEY_VARIABLE, type StoreKeys } from "../configured-keys.js";
import type { StoreWarning } from "../store-warning.js";
import { toFileError } from "./file-error.js";
import { createKeyFile, readKeyFile } from "./key-file.js";
import { type Keychain, loadKeychain } from "./keychain.js";

/** Prefix of a line in the key file that refers to a keychain entry. */
const KEYCHAIN_MARK = "keychain:";

interface LocalKeysOptions {
  key: StoreKeys | undefined;
  keyFile: string;
  onWarning?: ((warning: StoreWarning) => void) | undefined;
  /** For tests. @default the keychain of this machine */
  keychain?: (() => Promise<Keychain | undefined>) | undefined;
}

export async function loadLocalKeys(options: LocalKeysOptions): Promise<KeyRing> {
  const configured = configuredKeys(options.key);
  if (configured === undefined) return createKeyRing(await readOrMakeKeys(options));
  const listed = Array.isArray(configured) ? (configured as readonly StoreKey[]) : [configured as StoreKey];
  // A key may be configured after the file was in use; the saved records must stay readable.
  const older = await readKeys(options).catch(() => undefined);
  return createKeyRing([...listed, ...(older ?? [])]);
}

async function readOrMakeKeys(options: LocalKeysOptions): Promise<string[]> {
  try {
    const known = await readKeys(options);
    if (known !== undefined) return known;
    await makeKey(options);
    return (await readKeys(options)) ?? [];
  } catch (error) {
    throw toFileError(error, options.keyFile);
  }
}

/** The keys that the key file contains or refers to. */
async function readKeys({ keyFile, onWarning, keychain }: LocalKeysOptions): Promise<string[] | undefined> {
  const lines = readKeyFile(keyFile, onWarning);
  if (lines === undefined) return undefined;
  const isElsewhere = lines.some((line) => line.startsWith(KEYCHAIN_MARK));
  const chain = isElsewhere ? await (keychain ?? loadKeychain)() : undefined;
  const read = async (line: string): Promise<string> => {
    if (!line.startsWith(KEYCHAIN_MARK)) return line;
    const key = await chain?.read(line.slice(KEYCHAIN_MARK.length)).catch(() => undefined);
    if (key === undefined) throw unreachable(keyFile);
    return key;
  };
  return Promise.all(lines.map(read));
}

/** Creates the key and writes its location to the file. If several processes do so, the first one wins. */
async function makeKey({ keyFile, keychain }: LocalKeysOptions): Promise<void> {
  const key = createStoreKey();
  const chain = await (keychain ?? loadKeychain)();
  const account = await keep(key, chain);
  const isMine = createKeyFile(keyFile, account === undefined ? key : KEYCHAIN_MARK + account);
  if (!isMine && account !== undefined) await chain?.remove(account).catch(() => {});
}

/** The name of the key in the keychain, or undefined if it could not be stored: a headless machine has no keychain. */
async function keep(key: string, chain: Keychain | undefined): Promise<string | undefined> {
  const account = crypto.randomUUID();
  try {
    await chain?.write(account, key);
    return (await chain?.read(account)) === key ? account : undefined;
  } catch {
    return undefined;
  }
}

const unreachable = (keyFile: string): StateError =>
  new StateError({
    code: "KEY_MISMATCH",
    what: `The key named in ${keyFile} cannot be read from the operating system's keychain`,
    next: `Unlock the keychain, check that @napi-rs/keyring is installed, or set ${KEY_VARIABLE}; nothing was deleted`,
  });
