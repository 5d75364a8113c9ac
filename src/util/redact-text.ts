/** Redacts untrusted text for display: URL queries, credentials, hidden characters and excess length. */

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
