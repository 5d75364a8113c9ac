/** What an agent saves about its servers in addition to the port, in the same store. */

import { toToolportError } from "../../errors/to-toolport-error.js";
import { StateError } from "../../errors/toolport-error.js";
import type { Store } from "../../state/store.js";
import { hashText } from "../../util/text.js";
import { normaliseUrl } from "./to-server-entry.js";

export interface ServerRecord {
  /** The name to show. */
  readonly name: string;
  /** Normalised. */
  readonly url: string;
  readonly callbackUrl: string;
  /** Fingerprint of the description of the server. */
  readonly print: string;
}

export interface RecordOptions {
  readonly store: Store | undefined;
  readonly principal: string | undefined;
  /** If the store fails, the server is not saved but works. */
  readonly warn: (message: string) => void;
}

export class ServerRecords {
  readonly #options: RecordOptions;
  readonly #prefix: string;
  readonly #records = new Map<string, ServerRecord>();

  constructor(options: RecordOptions) {
    this.#options = options;
    this.#prefix = `agents/${encodeURIComponent(options.principal ?? "")}/`;
  }

  get ids(): string[] {
    return [...this.#records.keys()];
  }

  get(id: string): ServerRecord | undefined {
    return this.#records.get(id);
  }

  /** The id of this server: the existing one, or one that is derived from its name and address. */
  idFor(name: string, url: string): string {
    const address = normaliseUrl(url);
    const isIt = (record: ServerRecord) => record.name === name && record.url === address;
    const known = [...this.#records].find(([, record]) => isIt(record));
    if (known !== undefined) return known[0];
    for (let attempt = 1; ; attempt += 1) {
      // It is the prefix of tool names, which must start with a letter and have at most 64 characters.
      const id = `s${hashText(JSON.stringify([name, address, attempt])).slice(0, 9)}`;
      if (!this.#records.has(id)) return id;
    }
  }

  async set(id: string, record: ServerRecord): Promise<void> {
    this.#records.set(id, record);
    // An address may contain a key.
    await this.#attempt("saved", (store) => store.put(this.#key(id), record, { secret: true }));
  }

  async delete(id: string): Promise<void> {
    this.#records.delete(id);
    await this.#attempt("deleted", (store) => store.delete(this.#key(id)));
  }

  /**
   * Loads the saved servers.
   *
   * @throws StateError if it is sealed with a key that is missing
   */
  async restore(): Promise<void> {
    await this.#attempt("read", async (store) => {
      const keys = await store.list(this.#prefix);
      await Promise.all(
        keys.map(async (key) => {
          const value = (await store.get(key))?.value;
          if (isRecord(value)) this.#records.set(decodeURIComponent(key.slice(this.#prefix.length)), value);
        }),
      );
    });
  }

  #key(id: string): string {
    return `${this.#prefix}${encodeURIComponent(id)}`;
  }

  async #attempt(what: string, run: (store: Store) => Promise<unknown>): Promise<void> {
    const { store, warn } = this.#options;
    if (store === undefined) return;
    try {
      await run(store);
    } catch (error) {
      // A missing key is an error, not an empty store.
      if (StateError.isInstance(error) && error.code === "KEY_MISMATCH") throw error;
      warn(`The server records of an agent could not be ${what}: ${toToolportError(error).message}`);
    }
  }
}

const isRecord = (value: unknown): value is ServerRecord => {
  const { name, url, callbackUrl, print } = (value ?? {}) as Partial<ServerRecord>;
  return [name, url, callbackUrl, print].every((text) => typeof text === "string");
};
