/** Redacts text for display: possible secrets of untrusted text, and known secret values. */
import { replaceHidden } from "./visible-text.js";

const MAX_QUOTED = 500;
const GONE = "[redacted]";

type Rule = readonly [pattern: RegExp, replacement: string];

/** Query and fragment of a URL. All repetitions are bounded, so that long hostile text stays cheap. */
const QUERIES: Rule = [/\b([a-z][a-z0-9+.-]{0,31}:\/\/[^\s?#"'<>]{1,2048})[?#][^\s"'<>]*/gi, "$1"];

const CREDENTIALS: readonly Rule[] = [
  // User name and password before the host.
  [/\b([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#@"'<>]{1,512}@/gi, "$1"],
  // `Authorization: …` and similar headers, to the end of the line.
  [/\b((?:proxy-)?authorization|cookie|set-cookie|x-api-key)("?\s{0,8}[:=]\s{0,8})[^\r\n]+/gi, `$1$2${GONE}`],
  [/\b(bearer|basic|dpop)\s{1,8}[\w.~+/=-]{4,}/gi, `$1 ${GONE}`],
  // name=value and "name": "value" with names of secrets.
  [
    /\b([\w-]{0,32}(?:token|secret|password|passwd|api[_-]?key|code_verifier|client_assertion)"?\s{0,4}[:=]\s{0,4})"?[^\s"',;&)}\]]+/gi,
    `$1${GONE}`,
  ],
  // Tokens of suspended calls.
  [/\btp[cp]1\.[\w-]{8,}/g, GONE],
  // JSON Web Tokens and API keys with well-known prefixes.
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, GONE],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|AKIA|ya29)[-_.]?[A-Za-z0-9_-]{16,}/g, GONE],
];

/**
 * Removes possible secrets from untrusted text before it is quoted in a message.
 *
 * @example
 * ```ts
 * redactText("GET https://example.com/mcp?key=1 failed"); // "GET https://example.com/mcp failed"
 * ```
 */
export function redactText(text: string, { maxLength = MAX_QUOTED }: { maxLength?: number } = {}): string {
  let shown = text.slice(0, maxLength * 8);
  for (const [pattern, replacement] of [QUERIES, ...CREDENTIALS]) shown = shown.replace(pattern, replacement);
  shown = replaceHidden(shown.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " "), () => "").trim();
  return shown.length > maxLength ? `${shown.slice(0, maxLength)}…` : shown;
}

/** Removes credentials only; lines and URLs stay. */
export function hideCredentials(text: string): string {
  let shown = text;
  for (const [pattern, replacement] of CREDENTIALS) shown = shown.replace(pattern, replacement);
  return shown;
}

/** A URL without user name, password, query and fragment. */
export function redactUrl(url: string): string {
  const cut = url.search(/[?#]/);
  const bare = (cut < 0 ? url : url.slice(0, cut)).replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, "$1");
  return url.includes("?") ? `${bare}?${GONE}` : bare;
}

/** Shorter values are ordinary words ("1", "debug") more often than secrets. */
const MIN_SECRET_CHARS = 6;

/** A secret value and the name that replaces it. */
export type NamedSecret = readonly [name: string, value: string];

/** Returns a function that replaces secret values by their names, in every encoding that servers may use to repeat them. */
export function redactValues(
  values: Readonly<Record<string, string>> | Iterable<NamedSecret>,
): (text: string) => string {
  const given = Symbol.iterator in values ? [...values] : Object.entries(values);
  const names = new Map<string, string>();
  for (const [name, value] of given) {
    if (value.length < MIN_SECRET_CHARS) continue;
    for (const spelling of spellingsOf(value)) if (!names.has(spelling)) names.set(spelling, name.trim());
  }
  // Longest first: a value may contain another.
  const secrets = [...names].sort(([one], [other]) => other.length - one.length);
  return (text) =>
    secrets.reduce((rest, [value, name]) => rest.replaceAll(value, () => `[redacted: ${name}]`), text);
}

/** The plain value and its encodings in URLs, forms, JSON strings and HTML. */
function spellingsOf(value: string): Set<string> {
  if (/^[\w.~-]*$/.test(value)) return new Set([value]);
  const json = JSON.stringify(value).slice(1, -1);
  const html = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quoted = html.replaceAll('"', "&quot;");
  const encoded = encodeURIComponent(value.replace(/\p{Cs}/gu, "\ufffd"));
  // `encodeURIComponent` does not encode these; forms and stricter encoders do.
  const strict = encoded.replace(/[!'()*]/g, percent);
  const form = strict.replaceAll("%20", "+");
  // In JSON inside HTML, quotes are escaped twice.
  const spellings = [value, json, html, quoted, html.replaceAll('"', "&#34;"), encoded, strict, form];
  spellings.push(
    json.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  );
  for (const text of [quoted, encoded, strict]) spellings.push(text.replaceAll("'", "&#39;"));
  for (const text of [value, encoded, strict, form]) {
    spellings.push(text.replace(/%[0-9a-f]{2}/gi, (byte) => byte.toLowerCase()));
    spellings.push(text.replace(/%[0-9a-f]{2}/gi, (byte) => byte.toUpperCase()));
  }
  // Queries leave some reserved characters unescaped.
  spellings.push(encoded.replace(/%(?:2F|3A|40|24|2C|3B|3F)/g, decodeURIComponent));
  return new Set(spellings);
}

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
