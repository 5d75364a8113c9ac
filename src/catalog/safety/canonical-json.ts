/** Canonical JSON (RFC 8785): sorted keys, no whitespace. Equal values give equal text. */

/** A pending write: literal text, a value, or the end of a container. */
type Task = { text: string } | { value: unknown } | { leave: object };

/**
 * Writes a JSON value in canonical form: keys in the order of their UTF-16 code units, numbers and strings as
 * ECMAScript writes them. Undefined members are left out, as `JSON.stringify` does. Not recursive, so no
 * nesting is too deep.
 *
 * @throws TypeError for values that JSON cannot represent: NaN, Infinity, bigint, a function, a circular value
 * @see https://www.rfc-editor.org/rfc/rfc8785
 */
export function canonicalJson(root: unknown): string {
  const pieces: string[] = [];
  const tasks: Task[] = [{ value: root }];
  const open = new Set<object>();
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
    if ("text" in task) pieces.push(task.text);
    else if ("leave" in task) open.delete(task.leave);
    else if (typeof task.value !== "object" || task.value === null) pieces.push(scalar(task.value));
    else {
      if (open.has(task.value)) throw new TypeError("A circular value cannot be written as JSON");
      open.add(task.value);
      // Last in, first out. No spread: a long list would overflow the stack.
      for (const next of containerTasks(task.value).reverse()) tasks.push(next);
    }
  }
  return pieces.join("");
}

function containerTasks(container: object): Task[] {
  const isArray = Array.isArray(container);
  const members: Task[][] = isArray
    ? container.map((value) => [{ value: value === undefined ? null : value }])
    : Object.keys(container)
        .sort()
        .map((key): [string, unknown] => [key, (container as Record<string, unknown>)[key]])
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => [{ text: `${JSON.stringify(key)}:` }, { value }]);
  const separated = members.flatMap((member, index) => (index === 0 ? member : [{ text: "," }, ...member]));
  const [start, end] = isArray ? ["[", "]"] : ["{", "}"];
  return [{ text: start! }, ...separated, { leave: container }, { text: end! }];
}

function scalar(value: unknown): string {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError("JSON cannot represent NaN or Infinity");
  const text = typeof value === "bigint" ? undefined : JSON.stringify(value);
  if (text === undefined) throw new TypeError(`JSON cannot represent a ${typeof value}`);
  return text;
}
