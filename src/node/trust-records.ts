/** Remembers which servers of which files a user has agreed to. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { isRecord } from "../config/entry-reader.js";
import type { Store } from "../state/store.js";

/** A server as a file has it. */
export interface ConfiguredServer {
  readonly name: string;
  /** The file it stands in. */
  readonly file: string;
  /** The entry as it is written, with every value and before any variable is expanded: `sources[name].written`. */
  readonly entry: object;
  /**
   * Reads the files of the project that the entry reads. Called only if the entry itself is the one the user agreed to,
   * and when the user agrees.
   * @default none
   */
  readonly readFiles?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
}

/**
 * `"changed"`: the user agreed to it, but the entry is another one now. `"filesChanged"`: a file of the project that the
 * entry reads is another one now.
 */
export type Trust = "trusted" | "changed" | "filesChanged" | "unknown";

/**
 * Consent by file and name, to two hashes: one of the entry as it is written, every value included, and one of the
 * project's files that it reads. Values of the user's environment are in neither. Records are sealed: consent cannot be
 * forged without the store's key.
 *
 * @example
 * ```ts
 * const trust = new TrustRecords(store);
 * const { file, written: entry } = sources[name];
 * const server = { name, file, entry };
 * if (!(await trust.isTrusted(server)) && (await userAgrees(server))) await trust.trust(server);
 * ```
 */
export class TrustRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async isTrusted(server: ConfiguredServer): Promise<boolean> {
    return (await this.check(server)) === "trusted";
  }

  /** As `isTrusted`, but tells a server that changed from one that is new. */
  async check(server: ConfiguredServer): Promise<Trust> {
    const record = await this.#store.get(keyOf(server));
    if (record === undefined || !record.sealed || !isRecord(record.value)) return "unknown";
    const { file, name, entry, files } = record.value;
    if (file !== resolve(server.file) || name !== server.name) return "unknown";
    // Records of version 0.1 hold neither hash.
    if (typeof entry !== "string" || typeof files !== "string") return "unknown";
    if (entry !== configFingerprint(server.entry)) return "changed";
    return files === (await hashFiles(server)) ? "trusted" : "filesChanged";
  }

  /** Remembers that the user agreed to exactly this. */
  async trust(server: ConfiguredServer): Promise<void> {
    const value = {
      name: server.name,
      file: resolve(server.file),
      entry: configFingerprint(server.entry),
      files: await hashFiles(server),
      at: new Date().toISOString(),
    };
    await this.#store.put(keyOf(server), value, { secret: true });
  }

  /** Forgets it; true if there was anything to forget. */
  async revoke(server: Pick<ConfiguredServer, "name" | "file">): Promise<boolean> {
    return this.#store.delete(keyOf(server));
  }
}

const hashFiles = async ({ readFiles }: ConfiguredServer): Promise<string> =>
  configFingerprint((await readFiles?.()) ?? {});

function keyOf({ file, name }: Pick<ConfiguredServer, "name" | "file">): string {
  const folder = createHash("sha256").update(resolve(file)).digest("hex").slice(0, 32);
  return `trust/${folder}/${encodeURIComponent(name)}`;
}

/**
 * A hash of every field and every value of an entry, as they are written. The order of fields does not count. Pass the
 * entry before its variables are expanded (`sources[name].written`): then values from the user's environment do not
 * count, and everything that the file says does.
 *
 * @example
 * ```ts
 * configFingerprint({ command: "npx", env: { HOME: "." } }) === configFingerprint({ command: "npx", env: { HOME: ".." } }); // false
 * ```
 */
export const configFingerprint = (entry: object): string =>
  createHash("sha256").update(canonical(entry)).digest("hex");

/** One text for one value: fields in alphabetical order, every type told apart. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value instanceof Date) return `date ${value.toISOString()}`;
  if (isRecord(value)) {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
  }
  // Numbers that JSON does not have would all become null.
  return typeof value === "string" ? JSON.stringify(value) : `${typeof value} ${String(value)}`;
}
