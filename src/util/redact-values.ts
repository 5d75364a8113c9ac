/** Redacts known secret values in text that a server wrote. */

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
