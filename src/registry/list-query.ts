/** Writes the options of a list as a registry's query, and refuses what it would refuse. */
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ListServersOptions } from "./registry-options.js";

/** RFC 3339 with its offset; `Date.parse` alone takes much else. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,12})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function readSince(since: Date | string): string | undefined {
  if (since instanceof Date) return Number.isNaN(since.getTime()) ? undefined : since.toISOString();
  return TIMESTAMP.test(since) && !Number.isNaN(Date.parse(since)) ? since : undefined;
}

/** @throws ToolCallError with code `INVALID_ARGUMENTS` before anything is sent. */
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
  // Left out where it is what the registry assumes: some refuse it, and the cache has one key less.
  if (includeDeleted === true) query.set("include_deleted", "true");
  if (issues.length > 0) throw invalid(issues);
  return query;
}

function invalid(issues: readonly { path: string; message: string }[]): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    what: `The registry cannot be asked that: ${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
    next: "Correct what `issues` names",
    issues,
    outcome: "unsent",
  });
}
