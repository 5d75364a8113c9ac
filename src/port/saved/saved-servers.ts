/** Servers added at run time, kept in the store so that the next start has them too. */

import { freezeConfig } from "../../config/config-view.js";
import { parseServerEntry } from "../../config/parse-servers.js";
import type { ServerConfig } from "../../config/server-config.js";
import type { ServerEntry } from "../../config/server-entry.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { Store } from "../../state/store.js";

interface SavedServer {
  /** The entry without what cannot be written down. */
  readonly entry: Record<string, unknown>;
  /** Fields that held a function or an object with methods. */
  readonly unsaved: readonly string[];
  readonly savedAt: number;
}

type Warn = (server: string, message: string) => void;

export class SavedServers {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #warn: Warn;

  /** @param principal who has added them; servers of the plain port are everybody's */
  constructor(store: Store, principal: string | undefined, warn: Warn) {
    this.#store = store;
    this.#prefix = `servers/${encodeURIComponent(principal ?? "")}/`;
    this.#warn = warn;
  }

  async save(name: string, entry: ServerEntry): Promise<void> {
    const unsaved: string[] = [];
    const record: SavedServer = {
      entry: writable(entry, unsaved) as Record<string, unknown>,
      unsaved,
      savedAt: Date.now(),
    };
    // An entry holds headers and variables, and may start a process: nobody without the key may read or change it.
    await this.#attempt(name, "saved", () => this.#store.put(this.#key(name), record, { secret: true }));
  }

  async forget(name: string): Promise<void> {
    await this.#attempt(name, "deleted from the store", () => this.#store.delete(this.#key(name)));
  }

  /** Every saved server that can be read; what cannot be used as it was is blocked, and says why. */
  async restore(): Promise<ServerConfig[]> {
    const keys = await this.#store.list(this.#prefix);
    const configs = await Promise.all(keys.map((key) => this.#restoreOne(key)));
    return configs.filter((config) => config !== undefined);
  }

  async #restoreOne(key: string): Promise<ServerConfig | undefined> {
    const name = decodeURIComponent(key.slice(this.#prefix.length));
    try {
      const record = await this.#store.get(key);
      if (record === undefined) return undefined;
      const { entry, unsaved } = record.value as SavedServer;
      const config = parseServerEntry(name, withoutFunctions(entry, unsaved), { path: "saved servers" });
      const blocked = reasonToBlock(config, unsaved, record.sealed);
      return blocked === undefined ? config : freezeConfig({ ...config, blocked });
    } catch (error) {
      this.#warn(name, `The saved server could not be restored: ${toToolportError(error).message}`);
      return undefined;
    }
  }

  #key(name: string): string {
    return `${this.#prefix}${encodeURIComponent(name)}`;
  }

  /** A store that fails costs the memory of the server, not the server. */
  async #attempt(name: string, what: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#warn(name, `The server could not be ${what}: ${toToolportError(error).message}`);
    }
  }
}

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

/** A copy that JSON can hold; `left` gets the paths of what it cannot. */
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
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
  const isProvider = path === "authProvider";
  if (!isPlain || isProvider) {
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

/** A custom transport is nothing but a function: its place must hold one for the entry to be read. */
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
