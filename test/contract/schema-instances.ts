/** Creates values that a schema may accept; a validator decides which of them it does. */

import type { SeededRandom as Random } from "../support/random.js";

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const TEXTS = [
  "",
  "a",
  "abc",
  "ABC-1",
  "1",
  "42",
  "2024-02-29",
  "main",
  "hello world",
  "x".repeat(30),
  "0".repeat(24),
];
const BY_FORMAT: Record<string, string[]> = {
  "date-time": ["2024-02-29T12:00:00Z"],
  date: ["2024-02-29"],
  time: ["12:00:00Z"],
  email: ["a@b.co"],
  uri: ["https://example.com/a"],
  url: ["https://example.com/a"],
  uuid: ["123e4567-e89b-42d3-a456-426614174000"],
  hostname: ["example.com"],
  ipv4: ["127.0.0.1"],
  duration: ["P1D"],
};

export interface InstanceOptions {
  /** Whether undeclared properties are allowed. */
  readonly extras: boolean;
}

/** A value for a schema whose references are local. */
export function makeInstance(root: unknown, random: Random, options: InstanceOptions): unknown {
  const resolve = (ref: string): unknown =>
    ref
      .split("/")
      .slice(1)
      .reduce<unknown>(
        (node, token) =>
          (node as Node | undefined)?.[decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~")],
        root,
      );

  const make = (schema: unknown, depth: number): unknown => {
    if (!isNode(schema)) return random.pick([null, true, 1, "a", {}]);
    if (typeof schema["$ref"] === "string") {
      const { $ref, ...beside } = schema;
      return join(
        make(resolve($ref as string), depth + 1),
        Object.keys(beside).length > 3 ? make(beside, depth + 1) : {},
      );
    }
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"]) && random.below(20) > 0) return random.pick(schema["enum"]);
    let value = own(schema, depth);
    for (const keyword of ["anyOf", "oneOf"])
      if (Array.isArray(schema[keyword]))
        value = join(value, make(random.pick(schema[keyword] as unknown[]), depth + 1));
    for (const part of Array.isArray(schema["allOf"]) ? schema["allOf"] : [])
      value = join(value, make(part, depth + 1));
    return value;
  };

  /** Without alternatives. Undefined: the type is open. */
  const own = (schema: Node, depth: number): unknown => {
    const type = schema["nullable"] === true && random.below(4) === 0 ? "null" : typeOf(schema);
    if (type === "null") return null;
    if (type === "boolean") return random.below(2) === 0;
    if (type === "string") return text(schema);
    if (type === "number" || type === "integer") return number(schema, type);
    if (type === "array") return array(schema, depth);
    if (type === "object") return object(schema, depth);
    const isChoice = ["anyOf", "oneOf", "allOf"].some((keyword) => keyword in schema);
    return isChoice ? undefined : random.pick([null, false, 3, "any", {}, ["x"], { deep: [{}] }]);
  };

  const typeOf = (schema: Node): string | undefined => {
    const { type } = schema;
    if (Array.isArray(type)) return random.pick(type) as string;
    if (typeof type === "string") return type;
    if ("properties" in schema || "required" in schema) return "object";
    return "items" in schema || "prefixItems" in schema ? "array" : undefined;
  };

  const text = (schema: Node): string => {
    const pool = [...(BY_FORMAT[schema["format"] as string] ?? []), ...textsFor(schema["pattern"]), ...TEXTS];
    const [min, max] = [Number(schema["minLength"] ?? 0), Number(schema["maxLength"] ?? 1e6)];
    const fitting = pool.filter(
      (item) => item.length >= min && item.length <= max && matches(schema["pattern"], item),
    );
    const preferred = "format" in schema && random.below(4) > 0 ? fitting.slice(0, 1) : fitting;
    return preferred.length > 0 ? random.pick(preferred) : "a".repeat(Math.min(Math.max(min, 1), max));
  };

  const number = (schema: Node, type: string): number => {
    const step = Number(schema["multipleOf"] ?? (type === "integer" ? 1 : 0.5));
    const low = Number(schema["minimum"] ?? schema["exclusiveMinimum"] ?? -10);
    const high = Number(schema["maximum"] ?? schema["exclusiveMaximum"] ?? low + 50);
    const chosen = low + random.below(Math.max(1, Math.min(100, high - low + 1)));
    return Math.ceil((chosen + (typeof schema["exclusiveMinimum"] === "number" ? step : 0)) / step) * step;
  };

  const array = (schema: Node, depth: number): unknown[] => {
    const prefix = Array.isArray(schema["prefixItems"])
      ? schema["prefixItems"]
      : Array.isArray(schema["items"])
        ? schema["items"]
        : [];
    const [min, max] = [Number(schema["minItems"] ?? 0), Number(schema["maxItems"] ?? 4)];
    const extra = depth > 12 ? 0 : Math.max(0, Math.min(max, 4) - min);
    const size = Math.max(
      min,
      prefix.length > 0 && random.below(4) > 0 ? prefix.length : min + random.below(extra + 1),
    );
    return Array.from({ length: Math.min(size, 60) }, (_, index) =>
      make(prefix[index] ?? schema["items"], depth + 1),
    );
  };

  const object = (schema: Node, depth: number): Node => {
    const out: Node = {};
    const required = Array.isArray(schema["required"]) ? schema["required"] : [];
    const properties = isNode(schema["properties"]) ? schema["properties"] : {};
    const chance = depth > 4 ? 8 : 2;
    for (const [name, property] of Object.entries(properties))
      if (required.includes(name) || (depth < 12 && random.below(chance) === 0))
        out[name] = make(property, depth + 1);
    for (const name of required) if (!Object.hasOwn(out, name)) out[name] = "given";
    const rest = schema["additionalProperties"];
    const mayHaveMore = isNode(rest) || (options.extras && rest !== false);
    if (mayHaveMore && depth < 12 && random.below(3) === 0) out["one more"] = make(rest, depth + 1);
    return out;
  };

  return make(root, 0);
}

/** Two parts of one value. */
const join = (a: unknown, b: unknown): unknown => {
  if (a === undefined) return b;
  return isNode(a) && isNode(b)
    ? { ...a, ...b }
    : b === undefined
      ? a
      : isNode(b) && Object.keys(b).length === 0
        ? a
        : b;
};

function matches(pattern: unknown, text: string): boolean {
  if (typeof pattern !== "string") return true;
  return new RegExp(pattern, "u").test(text);
}

/** Texts for common patterns of tools. */
function textsFor(pattern: unknown): string[] {
  if (typeof pattern !== "string") return [];
  return [
    "https://a.co/b",
    "a@b.co",
    "10.0.0.1",
    "2024-02",
    "12:30",
    "#ffffff",
    "1.2.3",
    "a/b",
    "/a",
    "ab-cd_1",
    "10px",
    "0".repeat(32),
    "A1B2C3D4E5",
    "00000000-0000-4000-8000-000000000000",
  ];
}
