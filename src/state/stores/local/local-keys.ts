/** Finds the keys of a store on this machine: configured ones, else its key file and the keychain; creates a key at first use. */
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { StateError } from "../../../errors/toolport-error.js";
import {
  createKeyRing,
  createSealer,
  createStoreKey,
  type KeyRing,
  type Sealer,
  type StoreKey,
} from "../../sealing.js";
import { configuredKeys, KEY_VARIABLE, type StoreKeys } from "../store-arguments.js";
import { inspectPrivateFile, type StoreWarning, toFileError } from "./private-file.js";

/** Prefix of a line in the key file that refers to a keychain entry. */
const KEYCHAIN_MARK = "keychain:";

interface LocalKeysOptions {
  key: StoreKeys | undefined;
  keyFile: string;
  onWarning?: ((warning: StoreWarning) => void) | undefined;
  /** For tests. @default the keychain of this machine */
  keychain?: (() => Promise<Keychain | undefined>) | undefined;
}

/** Seals with the keys of the state file `path`. */
export const localSealer = (
  path: string,
  { key, onWarning }: Partial<Pick<LocalKeysOptions, "key" | "onWarning">>,
): Sealer =>
  createSealer(async () => {
    // Check the file first, so that no key is created for a rejected file.
    inspectPrivateFile(path, onWarning);
    return loadLocalKeys({ key, keyFile: `${path}.key`, onWarning });
  });

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
  if (inspectPrivateFile(keyFile, onWarning) === undefined) return undefined;
  const lines = readKeyLines(keyFile);
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

/** Stores small secrets by name. Every method throws if the keychain is locked, missing or forbidden. */
interface Keychain {
  read(account: string): Promise<string | undefined>;
  write(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

interface KeyringPackage {
  AsyncEntry: new (
    service: string,
    account: string,
    options: { linux: { store: "secret-service" } },
  ) => {
    getPassword(): Promise<string | null>;
    setPassword(secret: string): Promise<void>;
    deleteCredential(): Promise<boolean>;
  };
}

/** A variable, so that neither TypeScript nor a bundler requires the optional package. */
const PACKAGE: string = "@napi-rs/keyring";
const SERVICE = "toolport";

/** The keychain, or undefined if the package is not installed. */
export async function loadKeychain(
  load: () => Promise<unknown> = () => import(PACKAGE),
): Promise<Keychain | undefined> {
  let keyring: KeyringPackage;
  try {
    keyring = (await load()) as KeyringPackage;
  } catch {
    return undefined;
  }
  // The package's alternative on Linux, the kernel keyring, loses everything at a reboot.
  const entry = (account: string) =>
    new keyring.AsyncEntry(SERVICE, account, { linux: { store: "secret-service" } });
  return {
    read: async (account) => (await entry(account).getPassword()) ?? undefined,
    write: (account, secret) => entry(account).setPassword(secret),
    async remove(account) {
      await entry(account).deleteCredential();
    },
  };
}

/** The lines of a key file without comments: the first is the current key. Checks nothing. */
export function readKeyLines(path: string): string[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** Creates the file with one line. False if it already exists: only one of several processes succeeds. */
export function createKeyFile(path: string, line: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Written to a temporary file and linked, so that no process reads a partial key, or an empty file after a crash.
  const draft = `${path}.${crypto.randomUUID()}`;
  const file = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(file, `${line}\n`);
    fsyncSync(file);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
  return true;
}

/** The name of a new file is durable only after its directory is flushed. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
