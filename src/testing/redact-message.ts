/** Redacts secrets in messages before they are written to a recording. */

import type { ServerEntry } from "../config/server-entry.js";
import { isSecretName } from "../telemetry/wire-log.js";
import { canParseUrl } from "../util/can-parse-url.js";
import type { RpcMessage } from "./recording.js";

/** Prefix of the text that replaces a secret. */
const GONE = "[redacted";

/** Shorter values are ordinary words ("1", "debug") more often than secrets. */
const MIN_SECRET_CHARS = 6;

/** Patterns of tokens. None matches inside Base64, so that images stay unchanged. */
const TOKENS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(bearer|basic|dpop)\s{1,8}[\w.~+/=-]{8,}/gi, `$1 ${GONE}]`],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, `${GONE}]`],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs])[-_][\w-]{16,}/g, `${GONE}]`],
];

/** The secret values of one server. Header functions add to them while the server is used. */
export class Secrets {
  readonly #names = new Map<string, string>();
  #longestFirst: [value: string, name: string][] = [];

  constructor(entry: ServerEntry) {
    if ("env" in entry) this.add(entry.env ?? {});
    // The process can repeat inherited variables too. Only those with secret names: redacting `HOME` would break every path.
    if ("inheritEnv" in entry && entry.inheritEnv === true) {
      this.add(Object.fromEntries(Object.entries(process.env).filter(([name]) => isSecretName(name))));
    }
    if ("headers" in entry && typeof entry.headers === "object") this.add(entry.headers);
    for (const url of urlsOf(entry)) {
      this.add({ "user name": decodeURIComponent(url.username), password: decodeURIComponent(url.password) });
      this.add(Object.fromEntries(url.searchParams));
    }
  }

  add(values: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value = ""] of Object.entries(values)) {
      // A server that repeats `Authorization: Bearer abc` often repeats only the last part.
      for (const part of new Set([value, value.slice(value.lastIndexOf(" ") + 1)])) {
        if (part.length >= MIN_SECRET_CHARS) this.#names.set(part, name);
      }
    }
    // A value may contain another.
    this.#longestFirst = [...this.#names].sort(([one], [other]) => other.length - one.length);
  }

  /** A copy of the message without secrets. */
  redact(message: unknown): RpcMessage {
    const text = JSON.stringify(message, (name, value: unknown) => {
      if (typeof value !== "string") return value;
      return isSecretName(name) ? `${GONE}]` : this.#redactText(value);
    });
    return JSON.parse(text) as RpcMessage;
  }

  #redactText(text: string): string {
    let shown = text;
    for (const [value, name] of this.#longestFirst)
      shown = shown.replaceAll(value, () => `${GONE}: ${name}]`);
    for (const [pattern, replacement] of TOKENS) shown = shown.replace(pattern, replacement);
    return shown;
  }
}

function urlsOf(entry: ServerEntry): URL[] {
  type Address = "url" | "sseUrl" | "base_url" | "proxy";
  const { url, sseUrl, base_url, proxy } = entry as Partial<Record<Address, string | URL>>;
  return [url, sseUrl, base_url, proxy].flatMap((address) =>
    address !== undefined && canParseUrl(String(address)) ? [new URL(address)] : [],
  );
}

/**
 * Whether a recorded value matches a requested one. Redacted text matches any text, because the original is unknown.
 */
export function matchesRecorded(recorded: unknown, requested: unknown): boolean {
  if (typeof recorded === "string") {
    return typeof requested === "string" && (recorded === requested || recorded.includes(GONE));
  }
  if (typeof recorded !== "object" || recorded === null) return recorded === requested;
  if (
    typeof requested !== "object" ||
    requested === null ||
    Array.isArray(recorded) !== Array.isArray(requested)
  )
    return false;
  const keys = new Set([...Object.keys(recorded), ...Object.keys(requested)]);
  return [...keys].every((key) => matchesRecorded(Reflect.get(recorded, key), Reflect.get(requested, key)));
}
