/** Stores the user's consent to servers of configuration files. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { isRecord } from "@toolport/base";
import type { Store } from "@toolport/stores";

/** A server in a configuration file. */
export interface ConfiguredServer {
  readonly name: string;
  /** Path of the file. */
  readonly file: string;
  /** The complete entry before variables are expanded: `sources[name].written`. */
  readonly entry: object;
  /**
   * Reads the project files that the entry refers to. Called only if the entry itself has consent, and when the user
   * gives consent.
   * @default none
   */
  readonly readFiles?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
}

/**
 * `"changed"`: the entry has changed since the user agreed. `"filesChanged"`: a project file that the entry refers to has
 * changed since then.
 */
export type Trust = "trusted" | "changed" | "filesChanged" | "unknown";

/**
 * Consent is stored by file and name, with two hashes: one of the unexpanded entry, and one of the project files that it
 * refers to. Values of the user's environment are not included. Records are encrypted: consent cannot be forged without
 * the store's key.
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

  /** Like `isTrusted`, but distinguishes changed servers from new ones. */
  async check(server: ConfiguredServer): Promise<Trust> {
    const record = await this.#store.get(keyOf(server));
    if (record === undefined || !record.sealed || !isRecord(record.value)) return "unknown";
    const { file, name, entry, files } = record.value;
    if (file !== resolve(server.file) || name !== server.name) return "unknown";
    if (entry !== configFingerprint(server.entry)) return "changed";
    return files === (await hashFiles(server)) ? "trusted" : "filesChanged";
  }

  /** Saves the user's consent to the server in its current form. */
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

  /** Deletes the consent. Returns whether there was any. */
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
 * Hashes all fields and values of an entry, independent of the order of fields. Pass the entry before its variables are
 * expanded (`sources[name].written`): the hash then covers the whole entry of the file and no values of the user's
 * environment.
 *
 * @example
 * ```ts
 * configFingerprint({ command: "npx", env: { HOME: "." } }) === configFingerprint({ command: "npx", env: { HOME: ".." } }); // false
 * ```
 */
export const configFingerprint = (entry: object): string =>
  createHash("sha256").update(canonical(entry)).digest("hex");

/** A canonical text: fields in alphabetical order, types distinguished. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value instanceof Date) return `date ${value.toISOString()}`;
  if (isRecord(value)) {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
  }
  // JSON would turn NaN and infinity into null.
  return typeof value === "string" ? JSON.stringify(value) : `${typeof value} ${String(value)}`;
}
