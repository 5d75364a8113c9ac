/** Converts failures of a registry to Toolport errors. `server` is the registry's host. */

import { fromHttpStatus, fromSystemError } from "../errors/foreign-error.js";
import { ConnectionError, ToolCallError, ToolportError } from "../errors/toolport-error.js";
import { parseRetryAfter } from "../transports/http/network/http-errors.js";
import { isRecord, parseJson } from "../util/json.js";
import { redactText } from "../util/redact-text.js";
import { fieldOf, textOf } from "./fields.js";

/** A response with its complete body. */
export interface RegistryResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const EXCERPT_CHARS = 200;

/** An excerpt of the registry's text for an error message. */
const quote = (text: string): string =>
  redactText(text)
    .slice(0, EXCERPT_CHARS)
    .replace(/[.\s]+$/, "");

/** Reads `{ error }` and problem+json (`title`, `detail`, `errors`). `isRegistry`: it is one of them, so no proxy sent it. */
export function readErrorBody(text: string) {
  const value = parseJson(text);
  if (!isRecord(value)) return { isRegistry: false, detail: "", issues: [] };
  const said = textOf(value, "error") ?? textOf(value, "detail") ?? textOf(value, "title");
  const errors = fieldOf(value, "errors");
  const issues = (Array.isArray(errors) ? errors.slice(0, 20) : []).filter(isRecord).map((issue) => ({
    path: quote(textOf(issue, "location") ?? ""),
    message: quote(textOf(issue, "message") ?? ""),
  }));
  return { isRegistry: said !== undefined || issues.length > 0, detail: quote(said ?? ""), issues };
}

const colon = (detail: string): string => (detail === "" ? "" : `: ${detail}`);

/** The error for an HTTP status other than 2xx. */
export function toStatusError({ status, headers, text }: RegistryResponse, host: string): ToolportError {
  if (status === 401 || status === 403) return fromHttpStatus(status, undefined, { server: host });
  const { detail, issues } = readErrorBody(text);
  if (status === 400 || status === 422) {
    return new ToolCallError({
      server: host,
      code: "INVALID_ARGUMENTS",
      what: `The registry rejected the request (HTTP ${status})${colon(detail)}`,
      next: issues.length > 0 ? "Correct the options in `issues`" : "Check the options",
      issues,
    });
  }
  const isBusy = status === 429 || status === 503;
  return new ConnectionError({
    server: host,
    code: "HTTP_STATUS",
    what: `The registry responded with HTTP ${status}${colon(detail)}`,
    next: status < 500 && !isBusy ? "Check that `baseUrl` is the URL of an MCP registry" : "Try again later",
    status,
    retryable: isBusy || status >= 500 || status === 408 || status === 425,
    retryAfterMs: parseRetryAfter(headers.get("retry-after")),
  });
}

/** The error for an unusable response. `why` is the end of a sentence. */
export function toBadResponse({ status, headers, text }: RegistryResponse, host: string, why: string) {
  const type = quote(headers.get("content-type") ?? "none");
  return new ConnectionError({
    server: host,
    code: "BAD_RESPONSE",
    what: `The registry's response cannot be used, ${why} (HTTP ${status}, content type ${type})${colon(quote(text))}`,
    next: "Check that `baseUrl` is the URL of an MCP registry, and that no proxy or login page is in between",
    status,
  });
}

/** Converts errors of `fetch` and of reading a body. */
export function toFetchError(error: unknown, host: string): ToolportError {
  if (ToolportError.isInstance(error)) return error;
  const known = fromSystemError(error, { server: host });
  if (known !== undefined) return known;
  // Outside Node, a failed fetch is a plain TypeError.
  return new ConnectionError({
    server: host,
    code: "UNREACHABLE",
    what: "The registry could not be reached, or the connection broke",
    next: "Check `baseUrl` and the network",
    retryable: true,
    cause: error,
  });
}

export const timeoutError = (host: string, timeoutMs: number): ToolCallError =>
  new ToolCallError({
    server: host,
    code: "TIMEOUT",
    what: `The registry did not respond within ${timeoutMs} ms`,
    next: "Try again, or raise `timeoutMs`",
    phase: "registry",
    retryable: true,
  });
