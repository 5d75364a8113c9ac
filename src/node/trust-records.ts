/** Remembers which servers of which files a user has agreed to. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { isRecord } from "../config/entry-reader.js";
import type { ServerEntry } from "../config/server-entry.js";
import type { Store } from "../state/store.js";
import { configFingerprint } from "./config-fingerprint.js";

/** A server as a file has it. */
export interface ConfiguredServer {
  readonly name: string;
  readonly entry: ServerEntry;
  /** The file it stands in. */
  readonly file: string;
}

/** `"changed"`: agreed to once, but it is not the same any more. */
export type Trust = "trusted" | "changed" | "unknown";

/**
 * Consent by file, server and fingerprint: the same name with another command is another server, and is asked about
 * again. Records are sealed, so that nobody without the store's key can give consent.
 *
 * @example
 * ```ts
 * const trust = new TrustRecords(store);
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
    const { file, name } = server;
    const { value } = record;
    if (value["file"] !== resolve(file) || value["name"] !== name) return "unknown";
    return value["fingerprint"] === configFingerprint(server.entry) ? "trusted" : "changed";
  }

  /** Remembers that the user agreed to exactly this. */
  async trust(server: ConfiguredServer): Promise<void> {
    const fingerprint = configFingerprint(server.entry);
    const value = {
      name: server.name,
      file: resolve(server.file),
      fingerprint,
      at: new Date().toISOString(),
    };
    await this.#store.put(keyOf(server), value, { secret: true });
  }

  /** Forgets it; true if there was anything to forget. */
  async revoke(server: Pick<ConfiguredServer, "name" | "file">): Promise<boolean> {
    return this.#store.delete(keyOf(server));
  }
}

function keyOf({ file, name }: Pick<ConfiguredServer, "name" | "file">): string {
  const folder = createHash("sha256").update(resolve(file)).digest("hex").slice(0, 32);
  return `trust/${folder}/${encodeURIComponent(name)}`;
}
