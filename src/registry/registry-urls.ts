/** Builds the URLs of a registry's API, with validated query parameters. */

import { ConfigError } from "../errors/config-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { canParseUrl } from "../util/can-parse-url.js";
import type { ListServersOptions } from "./registry-options.js";

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
