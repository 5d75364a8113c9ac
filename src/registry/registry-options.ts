/** Options of the registry client and its methods. */
import type { HeadersOption } from "../config/server-entry.js";
import type { Store } from "../state/store.js";
import type { SkippedServer, StaleAnswer } from "./registry-server.js";

/** Retries of a request; `false` disables them. */
export type RegistryRetryOptions =
  | false
  | {
      /** Maximum number of attempts, including the first. @default 3 */
      maxAttempts?: number;
      /** Wait before the second attempt, ± 20 %; grows by a factor of 1.6. `Retry-After` takes precedence. @default 500 */
      baseMs?: number;
    };

/** A problem that did not fail the request. */
export type RegistryWarning =
  | { readonly kind: "stale"; readonly message: string; readonly stale: StaleAnswer }
  | { readonly kind: "skipped"; readonly message: string; readonly skipped: readonly SkippedServer[] }
  | { readonly kind: "cache"; readonly message: string; readonly error: unknown };

/** Options of `McpRegistryClient`. */
export interface McpRegistryClientOptions {
  /** URL of the registry. `/v0.1` is added unless the path ends in a version. @default "https://registry.modelcontextprotocol.io" */
  baseUrl?: string | URL;
  /** Sends the requests. @default the runtime's `fetch`, through the environment's proxy if there is one */
  fetch?: typeof globalThis.fetch;
  /** Headers of every request, for registries that require a token. Responses are then cached in memory only. @default none */
  headers?: HeadersOption;
  /** `User-Agent` header. @default "toolport/<version>" */
  userAgent?: string;
  /** Time limit of one attempt, until the last byte of the response. @default 15000 */
  timeoutMs?: number;
  /** Time limit of a method, including retries and waits. @default 60000 */
  maxTimeoutMs?: number;
  /** Retries after 429, 5xx, a lost connection or a timeout. @default 3 attempts */
  retry?: RegistryRetryOptions;
  /**
   * Where responses are cached: in memory (`true`), in a store, or not at all (`false`). In a store they are encrypted,
   * because commands are built from them; a store without a key caches nothing.
   * @default true
   */
  cache?: boolean | Store;
  /** Use a cached response for this long without revalidation, even without `Cache-Control`. @default 0 */
  freshMs?: number;
  /** Maximum age of a cached response that is used while the registry is unavailable; `0` disables that. @default 86400000 (a day) */
  maxStaleMs?: number;
  /** Maximum size of a response. @default 10485760 (10 MiB) */
  maxBytes?: number;
  /** Called for stale responses, skipped entries and cache failures. @default none */
  onWarning?: (warning: RegistryWarning) => unknown;
}

/** Options of every method. */
export interface RegistryCallOptions {
  signal?: AbortSignal | undefined;
  /** Time limit of one attempt. @default the client's `timeoutMs` */
  timeoutMs?: number | undefined;
}

/** Options of `listServers`. */
export interface ListServersOptions extends RegistryCallOptions {
  /** Part of the name. @default all */
  search?: string | undefined;
  /** Entries per page; the official registry accepts 1 to 100. @default the registry's own (30) */
  limit?: number | undefined;
  /** `nextCursor` of the previous page. @default the first page */
  cursor?: string | undefined;
  /** Only servers that changed since then; always includes deleted servers. @default all */
  updatedSince?: Date | string | undefined;
  /** `"latest"` or an exact version. @default all versions */
  version?: string | undefined;
  /** Include deleted servers. @default false */
  includeDeleted?: boolean | undefined;
}

/** Options of `pages` and `servers`. */
export interface AllServersOptions extends ListServersOptions {
  /** Maximum number of pages; more are an error. @default 1000 */
  maxPages?: number | undefined;
}

/** Options of `getServer` and `getServerVersions`. */
export interface GetServerOptions extends RegistryCallOptions {
  /** Include deleted versions. @default false */
  includeDeleted?: boolean | undefined;
}
