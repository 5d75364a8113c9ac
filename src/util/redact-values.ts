/** Takes secret values, of variables and headers, out of text that a server wrote. */

/** Shorter values are ordinary words ("1", "debug") more often than secrets. */
const MIN_SECRET_CHARS = 6;

/** A function that replaces each value by its name. */
export function redactValues(values: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = Object.entries(values)
    .filter(([, value]) => value.length >= MIN_SECRET_CHARS)
    // Longest first: one value may hold another.
    .sort(([, one], [, other]) => other.length - one.length);
  return (text) =>
    secrets.reduce((rest, [name, value]) => rest.replaceAll(value, () => `[redacted: ${name.trim()}]`), text);
}
