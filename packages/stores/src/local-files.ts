/** What stores in files of this machine share: permissions, errors and warnings, keys, and the identity of a process. */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { callSafely, StateError } from "@toolport/base";
import {
  createKeyRing,
  createSealer,
  createStoreKey,
  type KeyRing,
  type Sealer,
  type StoreKey,
} from "./sealing.js";
import { configuredKeys, KEY_VARIABLE, type StoreKeys } from "./store-arguments.js";
import type { LeaseHolder } from "./store-backend.js";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
const OTHERS = 0o077;

type OnWarning = ((warning: StoreWarning) => void) | undefined;

/**
 * Creates the file (0600) and its directory (0700) if they are missing. Removes the permissions of other users from an existing file,
 * with a warning; rejects a link, and a file of another user.
 */
export function claimFile(path: string, onWarning: OnWarning): void {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
  if (inspectPrivateFile(path, onWarning) !== undefined) return;
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Another process created it first, or it is another kind of file.
    inspectPrivateFile(path, onWarning);
  }
}

/** Only checks; undefined if there is no such file. Never opens it: that would drop SQLite's locks on it. */
export function inspectPrivateFile(path: string, onWarning: OnWarning): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) throw refused(path, "is a symbolic link");
  if (!stats.isFile()) throw refused(path, "is not a file");
  // On Windows Node reports neither owner nor mode.
  const user = process.getuid?.();
  if (user === undefined) return stats;
  if (stats.uid !== user) throw refused(path, "belongs to another user");
  if ((stats.mode & OTHERS) !== 0) {
    chmodSync(path, PRIVATE_FILE);
    const message = `${path} was accessible to other users of this machine; their permissions were removed`;
    warn({ code: "PERMISSIONS_FIXED", message, path }, onWarning);
  }
  return stats;
}

const refused = (path: string, why: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `The state file ${path} ${why}`,
    next: "Use a file that belongs to this user; nothing was changed",
  });

/** Error codes for no space left, a quota, or a limit of the file size. */
const FULL = ["ENOSPC", "EDQUOT", "EFBIG"];

/** Converts the error of a file operation on the state file `path`. */
export function toFileError(error: unknown, path: string): StateError {
  if (error instanceof StateError) return error;
  return FULL.includes((Object(error) as { code?: unknown }).code as string)
    ? fullError(path, error)
    : new StateError({
        code: "UNAVAILABLE",
        what: `The state file ${path} cannot be used`,
        next: "Check that the file and its directory exist and that this user can write to them",
        cause: error,
      });
}

/** The state file cannot grow. */
export const fullError = (path: string, cause: unknown): StateError =>
  new StateError({
    code: "FULL",
    what: `The state file ${path} cannot grow: the disk is full, or a limit is reached`,
    next: "Free some space; the saved records are unchanged",
    retryable: true,
    cause,
  });

/** Another process kept the file locked for too long. */
export const busyError = (path: string, cause?: unknown): StateError =>
  new StateError({
    code: "BUSY",
    what: `The state file ${path} was locked by another process for too long`,
    next: "Find the process that locks it, or try again",
    retryable: true,
    cause,
  });

/** A problem that a store corrected, or a feature that it could not use. */
export interface StoreWarning {
  /**
   * - `CORRUPT_SET_ASIDE`: the file was damaged; it was renamed and a new one created.
   * - `PERMISSIONS_FIXED`: others could read the file; now they cannot.
   * - `WAL_NOT_USED`: SQLite's write-ahead log, which is faster and safer, cannot be used here.
   */
  code: "CORRUPT_SET_ASIDE" | "PERMISSIONS_FIXED" | "WAL_NOT_USED";
  message: string;
  /** The file it is about. */
  path: string;
}

/** Passes a warning to `onWarning`, or to Node's process warnings (stderr). */
export function warn(warning: StoreWarning, onWarning: ((warning: StoreWarning) => void) | undefined): void {
  const fallback = () =>
    process.emitWarning(warning.message, { type: "ToolportWarning", code: warning.code });
  if (onWarning === undefined) fallback();
  else callSafely(() => onWarning(warning), fallback);
}

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

let known: LeaseHolder | "unknown" | undefined;

/**
 * This process. Undefined if the death of another process cannot be determined with certainty: a pid is meaningless outside
 * its machine, its boot and, in containers, its namespace. A suspended process is not dead.
 */
export function leaseHolder(): LeaseHolder | undefined {
  known ??= describe() ?? "unknown";
  return known === "unknown" ? undefined : known;
}

function describe(): LeaseHolder | undefined {
  const place = readPlace();
  if (place === undefined) return undefined;
  const start = readStat(process.pid)?.start;
  return {
    id: [place, process.pid, ...(start === undefined ? [] : [start])].join(" "),
    isGone(id) {
      if (!id.startsWith(`${place} `)) return false;
      const [pidText, startThen] = id.slice(place.length + 1).split(" ");
      const pid = Number(pidText);
      return Number.isSafeInteger(pid) && pid > 0 && (!isAlive(pid) || isAnother(pid, startThen));
    },
  };
}

function readPlace(): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

/** False only if there is no process with this pid. The process may belong to another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The pid was reused by another process, or the process is a zombie. */
function isAnother(pid: number, startThen: string | undefined): boolean {
  const stat = readStat(pid);
  if (stat === undefined) return false;
  return stat.state === "Z" || (startThen !== undefined && stat.start !== startThen);
}

/** State of a process, and when it was started, in clock ticks since the boot. See proc_pid_stat(5). */
function readStat(pid: number): { state: string | undefined; start: string | undefined } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain any characters.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], start: fields[19] };
  } catch {
    return undefined;
  }
}
