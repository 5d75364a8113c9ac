/** Canonical JSON (RFC 8785), in which equal values give equal text. */

/** A list or an object that is being written. */
interface OpenContainer {
  readonly container: object;
  /** Sorted. Undefined for a list. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  isEmpty: boolean;
}

/**
 * Writes a JSON value in canonical form: keys in the order of their UTF-16 code units, numbers and strings as
 * ECMAScript writes them. Undefined members are left out, as `JSON.stringify` does. Not recursive, so no
 * nesting is too deep, and without an object for each member: others choose how many there are.
 *
 * @throws TypeError for values that JSON cannot represent: NaN, Infinity, bigint, a function, a circular value
 * @see https://www.rfc-editor.org/rfc/rfc8785
 */
export function canonicalJson(root: unknown): string {
  const pieces: string[] = [];
  const stack: OpenContainer[] = [];
  const open = new Set<object>();
  const write = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return void pieces.push(scalar(value));
    if (open.has(value)) throw new TypeError("A circular value cannot be written as JSON");
    open.add(value);
    const keys = Array.isArray(value) ? undefined : Object.keys(value).sort();
    pieces.push(keys ? "{" : "[");
    const { length } = keys ?? (value as readonly unknown[]);
    stack.push({ container: value, keys, length, next: 0, isEmpty: true });
  };
  write(root);
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (top.next === top.length) {
      pieces.push(top.keys ? "}" : "]");
      open.delete(top.container);
      stack.pop();
      continue;
    }
    const key = top.keys?.[top.next] ?? top.next;
    top.next += 1;
    const value = (top.container as Record<string | number, unknown>)[key];
    if (value === undefined && top.keys) continue;
    if (!top.isEmpty) pieces.push(",");
    top.isEmpty = false;
    if (top.keys) pieces.push(JSON.stringify(key), ":");
    write(value === undefined ? null : value);
  }
  return pieces.join("");
}

function scalar(value: unknown): string {
  if (Number.isFinite(value) || typeof value === "boolean") return String(value);
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError("JSON cannot represent NaN or Infinity");
  const text = typeof value === "bigint" ? undefined : JSON.stringify(value);
  if (text === undefined) throw new TypeError(`JSON cannot represent a ${typeof value}`);
  return text;
}
