/** The order of keys: by their UTF-8 bytes, which is the order of their code points and not that of JavaScript. */

/** Compares two keys as a database compares their bytes. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates encode the highest code points, although their values are below U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** The least key above all that begin with `prefix`, or undefined if there is none. */
export function keyAfterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // A lone surrogate is not a character.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
