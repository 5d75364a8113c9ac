/** Converts the validator's flat list of errors, which includes parents and all alternatives, into issues for the caller, and writes their messages. */
import type { OutputUnit } from "@cfworker/json-schema";
import { pushTo, suggest } from "@toolport/base";
import { type CompiledSchema, NEVER, type SchemaNode } from "./compile-schema.js";
import { unescapeToken } from "./json-schema.js";
import { MAX_ISSUES, type ValidationIssue } from "./schema-validator.js";

/** The schema and the value of the errors. */
interface ErrorContext {
  compiled: CompiledSchema;
  value: unknown;
  /** Also add a hint how to correct the value. @default false */
  isAdvice?: boolean;
}

/** Keywords whose error only says that a subschema failed; that error follows in the list. */
const PARENTS = new Set(
  (
    "$ref allOf if properties patternProperties additionalProperties unevaluatedProperties dependentSchemas items " +
    "prefixItems additionalItems unevaluatedItems"
  ).split(" "),
);

/** Keywords whose subschemas apply to a property, and to an item. */
const PROPERTIES = new Set(
  "properties patternProperties additionalProperties unevaluatedProperties".split(" "),
);
const ITEMS = new Set(["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"]);

/** All issues in the order of the errors, without duplicates. */
export function explainErrors(units: readonly OutputUnit[], context: ErrorContext): ValidationIssue[] {
  const seen = new Set<string>();
  return collect(units, context).filter(({ path, message }) => {
    const key = `${path} ${message}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

function collect(units: readonly OutputUnit[], context: ErrorContext): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (let index = 0; index < units.length && issues.length < MAX_ISSUES; ) {
    const unit = units[index]!;
    const { keyword } = unit;
    index++;
    if (PARENTS.has(keyword)) continue;
    const inside = () => {
      const start = index;
      index = endOf(units, start, unit);
      return units.slice(start, index);
    };
    const place = locate(unit, context.compiled);
    // Items that do not match `contains`; the error of `contains` or `minContains` itself is reported.
    if (place.inContains) continue;
    if (keyword === "anyOf" || keyword === "oneOf") issues.push(...explainChoice(unit, inside(), context));
    else if (keyword === "propertyNames") issues.push(explainName(unit, inside(), context));
    else if (keyword === "required" || keyword === "dependentRequired") {
      while (units[index] !== undefined && isSamePlace(units[index]!, unit)) index++;
      issues.push(...explainMissing(unit, place.node, context));
    } else {
      if (keyword === "contains") inside();
      issues.push(explainOne(unit, place, context));
    }
  }
  return issues.slice(0, MAX_ISSUES);
}

const isSamePlace = (left: OutputUnit, right: OutputUnit): boolean =>
  left.keyword === right.keyword &&
  left.keywordLocation === right.keywordLocation &&
  left.instanceLocation === right.instanceLocation;

/** The errors of subschemas, which follow at locations below the error. */
function endOf(units: readonly OutputUnit[], start: number, { keywordLocation }: OutputUnit): number {
  let end = start;
  while (units[end]?.keywordLocation.startsWith(`${keywordLocation}/`)) end++;
  return end;
}

/** The location of the keyword of an error. */
interface KeywordPlace {
  node: SchemaNode;
  inContains: boolean;
  /** The schema of the object, if the error is about a property. */
  owner?: SchemaNode | undefined;
}

function locate(unit: OutputUnit, { root, targets }: CompiledSchema): KeywordPlace {
  let node = root as SchemaNode;
  let owner: SchemaNode | undefined;
  let inContains = false;
  const keys = keysOf(unit.keywordLocation);
  for (let index = 0; index < keys.length - 1; index++) {
    const keyword = keys[index]!;
    const value = node[keyword];
    if (PROPERTIES.has(keyword)) owner = node;
    else if (ITEMS.has(keyword)) owner = undefined;
    if (keyword === "$ref") node = targets[value as string] as SchemaNode;
    else if (Array.isArray(value)) node = value[Number(keys[++index])];
    else if (Object.getPrototypeOf(value) === null)
      node = (value as SchemaNode)[keys[++index]!] as SchemaNode;
    else node = value as SchemaNode;
    inContains ||= keyword === "contains";
  }
  return { node, inContains, owner };
}

function explainOne(unit: OutputUnit, { node, owner }: KeywordPlace, context: ErrorContext): ValidationIssue {
  const { path, part } = lookUp(context.value, unit.instanceLocation);
  const advice = context.isAdvice ? advise(unit, { node, owner }, part, context) : undefined;
  return { path, message: advice ?? messageFor(unit.keyword, node, part) };
}

/** A hint how to correct the value, if the schema is clear. */
function advise(
  unit: OutputUnit,
  { node, owner }: Pick<KeywordPlace, "node" | "owner">,
  part: unknown,
  context: ErrorContext,
): string | undefined {
  const name = keysOf(unit.instanceLocation).at(-1);
  if (owner === undefined || name === undefined) return adviceFor(unit.keyword, node, part);
  if (node === NEVER) {
    const parent = lookUp(context.value, unit.instanceLocation.replace(/\/[^/]*$/, "")).part;
    const isThere = (other: string) => Object.hasOwn((parent ?? {}) as object, other);
    const names = Object.keys((owner["properties"] as object) ?? {});
    const [meant] = suggest(
      name,
      names.filter((other) => !isThere(other)),
      1,
    );
    return unknownNameMessage(names, meant);
  }
  const isRequired = (owner["required"] as string[] | undefined)?.includes(name) === true;
  if (part === null && isRequired) return "is required and must not be null";
  return adviceFor(unit.keyword, node, part);
}

function explainMissing(unit: OutputUnit, node: SchemaNode, { value }: ErrorContext): ValidationIssue[] {
  const { path, part } = lookUp(value, unit.instanceLocation);
  const has = (key: string) => Object.hasOwn(part as object, key);
  const missing = (keys: readonly string[], message: string) =>
    keys.filter((key) => !has(key)).map((key) => ({ path: shorten(path + propertyPath(key)), message }));
  if (unit.keyword === "required") return missing(node["required"] as string[], "is required");
  return Object.entries(node["dependentRequired"] as Record<string, string[]>)
    .filter(([key]) => has(key))
    .flatMap(([key, needed]) => missing(needed, `is required beside ${JSON.stringify(key)}`));
}

function explainName(
  unit: OutputUnit,
  inside: readonly OutputUnit[],
  context: ErrorContext,
): ValidationIssue {
  const at = inside[0]?.instanceLocation ?? unit.instanceLocation;
  const reasons = collect(inside, { ...context, value: undefined }).map(({ message }) => message);
  return {
    path: lookUp(context.value, at).path,
    message: `has a name that is not allowed: it ${reasons.join(", ")}`,
  };
}

/** No alternative matches, or too many do. */
function explainChoice(
  unit: OutputUnit,
  inside: readonly OutputUnit[],
  context: ErrorContext,
): ValidationIssue[] {
  const { path, part } = lookUp(context.value, unit.instanceLocation);
  const { node } = locate(unit, context.compiled);
  const total = (node[unit.keyword] as unknown[]).length;
  const branches = groupByBranch(unit, inside);
  if (branches.length < total)
    return [{ path, message: `must match exactly one of ${total} alternatives, but matches several` }];
  // Find the intended alternative by the type of the value or by a constant.
  const meant = branches.filter((units) => !units.some((error) => rulesOut(error, unit)));
  if (meant.length === 1) return collect(meant[0]!, context);
  const only = branches.map((units) => (units.length === 1 ? units[0]! : undefined));
  const here = only.flatMap((error) =>
    error?.instanceLocation === unit.instanceLocation
      ? [{ keyword: error.keyword, node: locate(error, context.compiled).node }]
      : [],
  );
  if (here.length === total) {
    if (here.every(({ keyword }) => keyword === "type"))
      return [
        {
          path,
          message: typeMessage(
            here.flatMap(({ node }) => node["type"] as string | string[]),
            part,
          ),
        },
      ];
    const choices = here.flatMap(({ keyword, node }) =>
      keyword === "const" ? [node["const"]] : keyword === "enum" ? (node["enum"] as unknown[]) : [],
    );
    if (here.every(({ keyword }) => keyword === "const" || keyword === "enum"))
      return [{ path, message: choiceMessage(choices) }];
  }
  return [{ path, message: `matches none of ${total} alternatives` }];
}

function groupByBranch(unit: OutputUnit, inside: readonly OutputUnit[]): OutputUnit[][] {
  const branches = new Map<string, OutputUnit[]>();
  const start = unit.keywordLocation.length + 1;
  for (const error of inside) pushTo(branches, error.keywordLocation.slice(start).split("/", 1)[0]!, error);
  return [...branches.values()];
}

/** Whether an error rules out its alternative: another type, or another kind of object. */
function rulesOut(error: OutputUnit, choice: OutputUnit): boolean {
  if (error.instanceLocation === choice.instanceLocation)
    return ["type", "const", "enum"].includes(error.keyword);
  const below = error.instanceLocation.slice(choice.instanceLocation.length + 1);
  return (error.keyword === "const" || error.keyword === "enum") && !below.includes("/");
}

const MAX_CHOICES = 10;
const MAX_TEXT = 100;
/** Prefix of a pattern that is checked as a format. */
export const PATTERN_FORMAT = "pattern:";

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  null: "null",
};

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/** The type of a value, in words. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return TYPE_WORDS[typeof value] ?? "nothing";
}

/** `must be a string or null, but is a number`. */
function typeMessage(types: readonly string[], value: unknown): string {
  const words = [...new Set(types.map((type) => TYPE_WORDS[type] ?? type))];
  // More precise than "must be an integer, but is a number".
  const actual =
    types.includes("integer") && typeof value === "number" ? "has a fraction" : `is ${typeOf(value)}`;
  return `must be ${words.join(" or ")}, but ${actual}`;
}

/** `must be one of "a", "b"`. */
function choiceMessage(choices: readonly unknown[]): string {
  if (choices.length === 0) return "cannot be valid: the schema allows no value";
  const shown = choices.slice(0, MAX_CHOICES).map((choice) => cut(JSON.stringify(choice) ?? "?"));
  if (shown.length === 1 && choices.length === 1) return `must be ${shown[0]}`;
  const more = choices.length > shown.length ? ` and ${choices.length - shown.length} more` : "";
  return `must be one of ${shown.join(", ")}${more}`;
}

/** Quotes a name that is not a plain identifier. */
const nameText = (name: string): string => (/^[\w.$-]+$/.test(name) ? cut(name) : JSON.stringify(cut(name)));

/** `is not a parameter; did you mean "a"? There are: a, b`. */
function unknownNameMessage(names: readonly string[], meant: string | undefined): string {
  if (names.length === 0) return "is not a parameter; there are none";
  const shown = names.slice(0, MAX_CHOICES).map(nameText).join(", ");
  const more = names.length > MAX_CHOICES ? ` and ${names.length - MAX_CHOICES} more` : "";
  const hint = meant === undefined ? "." : `; did you mean ${JSON.stringify(cut(meant))}?`;
  return `is not a parameter${hint} There are: ${shown}${more}`;
}

const LISTS: Readonly<Record<string, string>> = {
  string: '["a", "b"]',
  number: "[1, 2]",
  integer: "[1, 2]",
  boolean: "[true, false]",
  object: "[{ … }]",
};

/** A hint how to correct the value; undefined if {@link messageFor} already says it. */
function adviceFor(keyword: string, node: SchemaNode, value: unknown): string | undefined {
  if (keyword !== "type" || node["type"] !== "array" || Array.isArray(value)) return undefined;
  const { type } = (node["items"] ?? {}) as SchemaNode;
  return `must be an array: write ${LISTS[String(type)] ?? "[ … ]"}`;
}

/** What `minLength`, `maxItems` and so on count. */
const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  Length: ["character", "characters"],
  Items: ["item", "items"],
  Properties: ["property", "properties"],
};

/** What a value must be, by the keyword that fails. */
const DEMANDS: Readonly<Record<string, (limit: unknown, node: SchemaNode) => string>> = {
  const: (limit) => choiceMessage([limit]),
  enum: (limit) => choiceMessage(limit as unknown[]),
  not: (_, node) => (node === NEVER ? "is not allowed" : "is a value that the schema excludes"),
  minimum: (limit, node) =>
    `must be ${node["exclusiveMinimum"] === true ? "more than" : "at least"} ${limit}`,
  maximum: (limit, node) => `must be ${node["exclusiveMaximum"] === true ? "less than" : "at most"} ${limit}`,
  exclusiveMinimum: (limit) => `must be more than ${limit}`,
  exclusiveMaximum: (limit) => `must be less than ${limit}`,
  multipleOf: (limit) => `must be a multiple of ${limit}`,
  pattern: (limit) => `must match the pattern ${cut(String(limit))}`,
  format: (limit) =>
    String(limit).startsWith(PATTERN_FORMAT)
      ? `must match the pattern ${cut(String(limit).slice(PATTERN_FORMAT.length))}`
      : `must have the format ${cut(String(limit))}`,
  uniqueItems: () => "must not contain duplicate items",
  contains: () => "must contain an item that matches the schema of `contains`, but contains none",
  minContains: (limit) => `must contain at least ${limit} items that match the schema of \`contains\``,
  maxContains: (limit) => `must contain at most ${limit} items that match the schema of \`contains\``,
};

/** The message when `keyword` of `node` fails for `value`. */
function messageFor(keyword: string, node: SchemaNode, value: unknown): string {
  const limit = node[keyword];
  if (keyword === "type") return typeMessage(Array.isArray(limit) ? limit : [String(limit)], value);
  const counted = COUNTED[keyword.slice(3)];
  if (counted === undefined) return DEMANDS[keyword]?.(limit, node) ?? `is not valid (${keyword})`;
  const bound = keyword.startsWith("min") ? "at least" : "at most";
  return `must have ${bound} ${limit} ${counted[limit === 1 ? 0 : 1]}`;
}

const MAX_PATH = 300;
const NAME = /^[A-Za-z_$][\w$]*$/;

/** The keys of a location: `#/a/b%20c` is a, then `b c`. */
function keysOf(location: string): string[] {
  return location
    .split("/")
    .slice(1)
    .map((token) => unescapeToken(decodeURIComponent(token)));
}

/** The part of `value` at a location, and its path. */
function lookUp(value: unknown, location: string): { path: string; part: unknown } {
  let path = "$";
  let part = value;
  for (const key of keysOf(location)) {
    path += Array.isArray(part) ? `[${key}]` : propertyPath(key);
    part =
      typeof part === "object" && part !== null && Object.hasOwn(part, key)
        ? (part as Record<string, unknown>)[key]
        : undefined;
  }
  return { path: shorten(path), part };
}

/** How a property is added to the path of its object. */
export const propertyPath = (key: string): string =>
  NAME.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;

export const shorten = (path: string): string =>
  path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
