/** Options of the registry client and its methods. */

import { ConfigError, canParseUrl, ToolCallError } from "@toolport/base";
import type { HttpServerEntry } from "@toolport/core";
import type { Store } from "@toolport/stores";
import type { SkippedServer, StaleAnswer } from "./server-json.js";

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
  headers?: HttpServerEntry["headers"];
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

/** RFC 3339 with an offset. `Date.parse` alone accepts more. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,12})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function readSince(since: Date | string): string | undefined {
  if (since instanceof Date) return Number.isNaN(since.getTime()) ? undefined : since.toISOString();
  return TIMESTAMP.test(since) && !Number.isNaN(Date.parse(since)) ? since : undefined;
}

/** @throws ToolCallError with code `INVALID_ARGUMENTS` */
export function toListQuery(options: ListServersOptions): URLSearchParams {
  const { search, limit, cursor, updatedSince, version, includeDeleted } = options;
  const query = new URLSearchParams();
  const issues: { path: string; message: string }[] = [];
  if (search !== undefined && search !== "") query.set("search", search);
  if (limit !== undefined) {
    if (Number.isSafeInteger(limit) && limit > 0) query.set("limit", String(limit));
    else issues.push({ path: "limit", message: "must be a whole number of at least 1" });
  }
  if (cursor !== undefined && cursor !== "") query.set("cursor", cursor);
  if (version !== undefined) query.set("version", version);
  if (updatedSince !== undefined) {
    const since = readSince(updatedSince);
    if (since !== undefined) query.set("updated_since", since);
    else
      issues.push({
        path: "updatedSince",
        message: "must be a Date or a timestamp such as 2026-01-31T12:00:00Z",
      });
    if (includeDeleted === false) {
      issues.push({ path: "includeDeleted", message: "cannot be false together with updatedSince" });
    }
  }
  // Leave out the default: some registries reject it, and the cache would have two keys for one list.
  if (includeDeleted === true) query.set("include_deleted", "true");
  if (issues.length > 0) throw invalid(issues);
  return query;
}

function invalid(issues: readonly { path: string; message: string }[]): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    what: `Invalid options for the registry: ${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
    next: "Correct the options in `issues`",
    issues,
    outcome: "unsent",
  });
}

export const OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io";

/** The stable version of the API; `/v0` has the same routes. */
const API = "v0.1";

function problemOf(baseUrl: string): string | undefined {
  if (!canParseUrl(baseUrl)) return "is not an absolute URL";
  const { protocol, username, password, search, hash } = new URL(baseUrl);
  if (protocol !== "https:" && protocol !== "http:") return "must start with https:// or http://";
  if (username !== "" || password !== "") return 'must not contain a user name or password; use "headers"';
  return search !== "" || hash !== "" ? "must not have a query or a fragment" : undefined;
}

/** Returns a function that builds the URL of a route. Every part of the route is encoded. */
export function createAddress(
  baseUrl: string | URL,
): (route: readonly string[], query?: URLSearchParams) => URL {
  const text = String(baseUrl).trim();
  const problem = problemOf(text);
  if (problem !== undefined) {
    throw new ConfigError({ code: "INVALID_CONFIG", issues: [{ path: "baseUrl", message: problem }] });
  }
  const base = new URL(text);
  const path = base.pathname.replace(/\/+$/, "");
  const root = /\/v\d+(?:\.\d+)*$/.test(path) ? path : `${path}/${API}`;
  return (route, query) => {
    const url = new URL(base);
    url.pathname = `${root}/${route.map(encodeURIComponent).join("/")}`;
    url.search = query?.toString() ?? "";
    return url;
  };
}
