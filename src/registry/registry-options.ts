/** What a registry client and its methods take. */
import type { HeadersOption } from "../config/server-entry.js";
import type { Store } from "../state/store.js";
import type { SkippedServer, StaleAnswer } from "./registry-server.js";

/** How often a request is tried again; `false`: never. */
export type RegistryRetryOptions =
  | false
  | {
      /** Attempts in all, the first one included. @default 3 */
      maxAttempts?: number;
      /** The wait before the second attempt, ± 20 %; it grows 1.6 times. `Retry-After` counts instead. @default 500 */
      baseMs?: number;
    };

/** Something that did not stop a request but that somebody should know of. */
export type RegistryWarning =
  | { readonly kind: "stale"; readonly message: string; readonly stale: StaleAnswer }
  | { readonly kind: "skipped"; readonly message: string; readonly skipped: readonly SkippedServer[] }
  | { readonly kind: "cache"; readonly message: string; readonly error: unknown };

/** Options of `McpRegistryClient`. */
export interface McpRegistryClientOptions {
  /** Where the registry is; `/v0.1` is added unless the path ends in a version. @default "https://registry.modelcontextprotocol.io" */
  baseUrl?: string | URL;
  /** Sends the requests. @default the runtime's `fetch`, through the environment's proxy if the registry has one */
  fetch?: typeof globalThis.fetch;
  /** Headers of every request, for registries that want a token. With them answers are cached in memory only. @default none */
  headers?: HeadersOption;
  /** What the client calls itself. @default "toolport/<version>" */
  userAgent?: string;
  /** Time for one attempt, from the question to the last byte of the answer. @default 15000 */
  timeoutMs?: number;
  /** Time for a method with all its attempts and waits. @default 60000 */
  maxTimeoutMs?: number;
  /** What is tried again after 429, 5xx, a lost connection or a timeout, and how often. @default 3 attempts */
  retry?: RegistryRetryOptions;
  /**
   * Where answers are kept: in memory (`true`), in a store, or nowhere. In a store they are sealed, because commands are
   * made of them; a store without a key keeps none.
   * @default true
   */
  cache?: boolean | Store;
  /** Use an answer without asking again for this long, even if the registry promises nothing. @default 0 */
  freshMs?: number;
  /** How old an answer may be that is given when the registry cannot be asked; `0`: never. @default 86400000 (a day) */
  maxStaleMs?: number;
  /** Largest answer. @default 10485760 (10 MiB) */
  maxBytes?: number;
  /** Told of old answers, entries that were left out, and a cache that fails. @default none */
  onWarning?: (warning: RegistryWarning) => unknown;
}

/** What every method takes. */
export interface RegistryCallOptions {
  signal?: AbortSignal | undefined;
  /** Time for one attempt. @default the client's `timeoutMs` */
  timeoutMs?: number | undefined;
}

/** Which servers are listed. */
export interface ListServersOptions extends RegistryCallOptions {
  /** Part of the name. @default all */
  search?: string | undefined;
  /** Entries on a page; the official registry takes 1 to 100. @default the registry's own (30) */
  limit?: number | undefined;
  /** `nextCursor` of the page before. @default the first page */
  cursor?: string | undefined;
  /** Only what changed since; deleted servers are then always included. @default all */
  updatedSince?: Date | string | undefined;
  /** `"latest"`, or one version exactly. @default all versions */
  version?: string | undefined;
  /** Also what was deleted. @default false */
  includeDeleted?: boolean | undefined;
}

/** How all pages are read. */
export interface AllServersOptions extends ListServersOptions {
  /** Pages after which reading ends with an error. @default 1000 */
  maxPages?: number | undefined;
}

/** Which version is asked for. */
export interface GetServerOptions extends RegistryCallOptions {
  /** Also if it was deleted. @default false */
  includeDeleted?: boolean | undefined;
}
