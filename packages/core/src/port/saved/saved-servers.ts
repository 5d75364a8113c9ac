/** Stores servers that were added at run time, for the next process. */

import { hashText, isPlainObject, toToolportError } from "@toolport/base";
import { type Store, userPrefix } from "@toolport/stores";
import { parseServerEntry } from "../../config/parse-servers.js";
import { configIdentity, freezeConfig, type ServerConfig } from "../../config/server-config.js";
import type { ServerEntry } from "../../config/server-entry.js";

interface SavedServer {
  /** The entry without fields that JSON cannot represent. */
  readonly entry: Record<string, unknown>;
  /** Fields that contained a function or an object with methods. */
  readonly unsaved: readonly string[];
  readonly savedAt: number;
}

type Warn = (server: string, message: string) => void;

/** How a saved server changed since this process last read or wrote it. */
type ServerNews = { readonly name: string } & (
  | { readonly kind: "same" | "removed" }
  | { readonly kind: "changed"; readonly config: ServerConfig }
);

export class SavedServers {
  readonly prefix: string;
  /** Fingerprints of the records that this process last read or wrote, by name. */
  readonly #known = new Map<string, string>();
  /** Our own writes, which are completed before a read. */
  #writing: Promise<void> = Promise.resolve();
  #writes = 0;

  /** @param principal the user who adds them; undefined for the plain port, whose servers all users have */
  constructor(
    private readonly store: Store,
    principal: string | undefined,
    private readonly warn: Warn,
  ) {
    this.prefix = userPrefix("servers", principal);
  }

  async save(name: string, entry: ServerEntry): Promise<void> {
    const unsaved: string[] = [];
    const record: SavedServer = {
      entry: writable(entry, unsaved) as Record<string, unknown>,
      unsaved,
      savedAt: Date.now(),
    };
    this.#known.set(name, printOf(record));
    // Secret, because an entry contains headers and variables, and may start a process.
    await this.#attempt(name, "saved", () => this.store.put(this.#key(name), record, { secret: true }));
  }

  async forget(name: string): Promise<void> {
    this.#known.delete(name);
    await this.#attempt(name, "deleted from the store", () => this.store.delete(this.#key(name)));
  }

  /** Deletes the saved server of this name if it is the same one. */
  async forgetSame(config: ServerConfig): Promise<void> {
    const key = this.#key(config.name);
    const saved = await this.#read(key);
    if (typeof saved === "object" && configIdentity(saved.config) === configIdentity(config))
      await this.store.delete(key);
  }

  /** All saved servers that can be read. Incomplete ones are blocked, with the reason. */
  async restore(): Promise<ServerConfig[]> {
    const keys = await this.store.list(this.prefix);
    const found = await Promise.all(keys.map((key) => this.#read(key)));
    return found.flatMap((saved) => (typeof saved === "object" ? this.#take(saved) : []));
  }

  /** Reads one record again after its key was written or deleted. */
  async reread(key: string): Promise<ServerNews> {
    const name = this.#nameOf(key);
    for (;;) {
      const writes = this.#writes;
      await this.#writing;
      const saved = await this.#read(key);
      // The record may be older than a write that is still under way here.
      if (writes !== this.#writes) continue;
      if (saved === "unreadable") return { name, kind: "same" };
      if (saved === "missing") return { name, kind: this.#known.delete(name) ? "removed" : "same" };
      if (this.#known.get(name) === saved.print) return { name, kind: "same" };
      return { name, kind: "changed", config: this.#take(saved) };
    }
  }

  #take({ config, print }: ReadServer): ServerConfig {
    this.#known.set(config.name, print);
    return config;
  }

  async #read(key: string): Promise<ReadServer | "missing" | "unreadable"> {
    const name = this.#nameOf(key);
    try {
      const record = await this.store.get(key);
      if (record === undefined) return "missing";
      const saved = record.value as SavedServer;
      const { entry, unsaved } = saved;
      const config = parseServerEntry(name, withoutFunctions(entry, unsaved), { path: "saved servers" });
      const blocked = reasonToBlock(config, unsaved, record.sealed);
      const print = printOf(saved);
      return { config: blocked === undefined ? config : freezeConfig({ ...config, blocked }), print };
    } catch (error) {
      this.warn(name, `The saved server could not be restored: ${toToolportError(error).message}`);
      return "unreadable";
    }
  }

  #nameOf(key: string): string {
    return decodeURIComponent(key.slice(this.prefix.length));
  }

  #key(name: string): string {
    return `${this.prefix}${encodeURIComponent(name)}`;
  }

  /** If the store fails, the server works but is not saved. */
  #attempt(name: string, what: string, run: () => Promise<unknown>): Promise<void> {
    this.#writes += 1;
    const attempt = async () => {
      try {
        await run();
      } catch (error) {
        this.warn(name, `The server could not be ${what}: ${toToolportError(error).message}`);
      }
    };
    const written = attempt();
    this.#writing = Promise.all([this.#writing, written]).then(() => {});
    return written;
  }
}

interface ReadServer {
  readonly config: ServerConfig;
  readonly print: string;
}

/** Ignores the time of saving. */
const printOf = ({ entry, unsaved }: SavedServer): string => hashText(JSON.stringify({ entry, unsaved }));

function reasonToBlock(
  config: ServerConfig,
  unsaved: readonly string[],
  sealed: boolean,
): string | undefined {
  if (unsaved.length > 0) return `${unsaved.join(", ")} cannot be saved, only given by the program`;
  const startsProcess = config.kind === "stdio" || config.kind === "docker";
  if (startsProcess && !sealed)
    return "its record is not sealed with the store's key, and it starts a process";
  return undefined;
}

/** A copy that JSON can represent; `left` receives the paths of all other fields. */
function writable(value: unknown, left: string[], path = ""): unknown {
  if (value instanceof URL) return value.href;
  if (typeof value === "function" || typeof value === "symbol") {
    left.push(path);
    return undefined;
  }
  if (Array.isArray(value)) return value.map((item, index) => writable(item, left, `${path}[${index}]`));
  if (typeof value !== "object" || value === null) {
    // JSON would turn it into null.
    return value === Number.POSITIVE_INFINITY ? undefined : value;
  }
  if (!isPlainObject(value) || path === "authProvider") {
    left.push(path);
    return undefined;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      writable(inner, left, path === "" ? key : `${path}.${key}`),
    ]),
  );
}

/** A placeholder for the function of a custom transport, so that the entry can be parsed. */
function withoutFunctions(
  entry: Record<string, unknown>,
  unsaved: readonly string[],
): Record<string, unknown> {
  if (!unsaved.includes("transport")) return entry;
  return {
    ...entry,
    transport: () => {
      throw new TypeError("The transport was not saved");
    },
  };
}
