/** Describes a request to an authorization server for people who debug a login. Secrets are redacted. */

import { type Fields, hideCredentials, parseJson, toRecord } from "@toolport/base";
import type { ObservedExchange } from "@toolport/http/guarded-fetch";

const SECRET = /token|secret|code|assertion|verifier|password|jwt|state|nonce|credential|api_?key/i;
/** Names that describe secrets, and have none. */
const HARMLESS =
  /_(?:type|types|endpoint|supported|method|methods|uri|alg|hint|expires_at)$|^grant_types$|^error/i;
const REDACTED = "[redacted]";
const MAX_TEXT = 2_000;
const MAX_DEPTH = 6;

/**
 * @example
 * ```ts
 * describeExchange(exchange); // { step: "Token request (authorization_code)", method: "POST", status: 200, … }
 * ```
 */
export function describeExchange({ request, status, bytes, challenge, durationMs }: ObservedExchange) {
  if (challenge !== undefined)
    return {
      step: "Challenge of the server",
      method: request.method,
      url: redactUrl(request.url),
      status,
      response: { "www-authenticate": redact(readChallenges(challenge)) },
      durationMs,
    };
  const body = readFields(toText(request.body), request.headers["content-type"]);
  const response = readFields(toText(bytes), "application/json");
  return {
    step: stepOf(request.url, request.method, body),
    method: request.method,
    url: redactUrl(request.url),
    ...(body && { body: redact(body) as Fields }),
    status,
    ...(response && { response: redact(response) as Fields }),
    durationMs,
  };
}

const toText = (body: string | Uint8Array | undefined): string =>
  typeof body === "string" ? body : body === undefined ? "" : new TextDecoder().decode(body);

function readFields(text: string, type = ""): Fields | undefined {
  if (text === "") return undefined;
  if (type.includes("x-www-form-urlencoded")) return Object.fromEntries(new URLSearchParams(text));
  return toRecord(parseJson(text));
}

/** The parameters of a challenge. Text that has none is one word, the scheme. */
function readChallenges(field: string): Fields {
  const text = field.slice(0, MAX_TEXT);
  const params = [...text.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)];
  const scheme = /^[\w-]+(?=\s|$)/.exec(text)?.[0];
  return {
    ...(scheme !== undefined && { scheme }),
    ...Object.fromEntries(params.map(([, name, quoted, plain]) => [name, quoted ?? plain])),
  };
}

function stepOf(url: URL, method: string, body: Fields | undefined): string {
  const { pathname } = url;
  if (pathname.includes("/.well-known/oauth-protected-resource")) return "Metadata of the resource";
  if (pathname.includes("/.well-known/")) return "Metadata of the authorization server";
  if (method !== "POST" || body === undefined) return "Request";
  if (typeof body["grant_type"] === "string")
    return `Token request (${body["grant_type"].split(":").at(-1)})`;
  if ("redirect_uris" in body) return "Client registration";
  return "token" in body ? "Revocation" : "Request";
}

function redactUrl(url: URL): string {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  for (const name of new Set(shown.searchParams.keys()))
    if (isSecret(name)) shown.searchParams.set(name, REDACTED);
  return hideCredentials(shown.href);
}

const isSecret = (name: string): boolean => SECRET.test(name) && !HARMLESS.test(name);

function redact(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return hideCredentials(value.slice(0, MAX_TEXT));
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      isSecret(name) && field !== null ? REDACTED : redact(field, depth + 1),
    ]),
  );
}
