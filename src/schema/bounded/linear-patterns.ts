/** Replaces the regular expressions of the validator, which has no hook for them, by a linear-time engine. */
import type { CompiledSchema, SchemaNode } from "../compile-schema.js";
import { PATTERN_FORMAT } from "../explain-errors.js";
import { isSimplePattern } from "../read-pattern.js";
import type { LinearEngine, LinearTest } from "./bounded-run.js";

/** The validator's table of formats. */
export type FormatTable = Record<string, (text: string) => boolean>;

/** A schema whose risky patterns no longer reach the runtime's own engine. */
export interface LinearPatterns {
  /** Patterns that the engine does not support. They are not checked. */
  readonly skipped: readonly string[];
  /** Runs `task`, in which `value` is validated. */
  around<T>(value: unknown, formats: FormatTable, task: () => T): T;
}

/** Rewrites the schema's risky patterns in place. */
export function useLinearPatterns(compiled: CompiledSchema, engine: LinearEngine): LinearPatterns {
  const tests = new Map<string, LinearTest | undefined>();
  const testFor = (pattern: string): LinearTest | undefined => {
    if (!tests.has(pattern)) tests.set(pattern, engine(pattern));
    return tests.get(pattern);
  };
  /** The property names of the value under validation. */
  let names: readonly string[] = [];
  for (const node of compiled.patternNodes) {
    replacePattern(node, testFor);
    replacePatternProperties(node, testFor, () => names);
  }
  const usable = [...tests].flatMap(([pattern, test]) => (test === undefined ? [] : [{ pattern, test }]));
  return {
    skipped: [...tests].flatMap(([pattern, test]) => (test === undefined ? [pattern] : [])),
    around(value, formats, task) {
      names = propertyNames(value);
      // Other users of the validator share the table, so our entries are removed again.
      for (const { pattern, test } of usable) formats[PATTERN_FORMAT + pattern] = test;
      try {
        return task();
      } finally {
        for (const { pattern } of usable) delete formats[PATTERN_FORMAT + pattern];
      }
    },
  };
}

/** A pattern becomes a format, because formats are looked up in a table. */
function replacePattern(node: SchemaNode, testFor: (pattern: string) => LinearTest | undefined): void {
  const pattern = node["pattern"];
  if (typeof pattern !== "string" || isSimplePattern(pattern)) return;
  delete node["pattern"];
  if (testFor(pattern) === undefined) return;
  node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), { format: PATTERN_FORMAT + pattern }];
}

/** A pattern for names becomes the list of names in the value that match it, which needs no backtracking. */
function replacePatternProperties(
  node: SchemaNode,
  testFor: (pattern: string) => LinearTest | undefined,
  names: () => readonly string[],
): void {
  const written = Object.entries((node["patternProperties"] as Record<string, unknown>) ?? {});
  if (written.every(([pattern]) => isSimplePattern(pattern))) return;
  for (const [pattern] of written) if (!isSimplePattern(pattern)) testFor(pattern);
  let [knownNames, known]: [readonly string[] | undefined, Record<string, unknown>] = [undefined, {}];
  const build = (): Record<string, unknown> => {
    const map: Record<string, unknown> = Object.create(null);
    for (const [index, [pattern, schema]] of written.entries()) {
      if (isSimplePattern(pattern)) {
        map[pattern] = schema;
        continue;
      }
      const test = testFor(pattern);
      // The names that a skipped pattern matches are unknown, so no name may count as undeclared.
      if (test === undefined) map[""] = true;
      else map[`${exactly(names().filter(test))}(?:){${index}}`] = schema;
    }
    return map;
  };
  Object.defineProperty(node, "patternProperties", {
    enumerable: true,
    get: () => {
      if (knownNames !== names()) [knownNames, known] = [names(), build()];
      return known;
    },
  });
}

// The index only distinguishes two patterns that match the same names.
const exactly = (names: readonly string[]): string =>
  names.length === 0 ? "^[]" : `^(?:${names.map(escapeName).join("|")})$`;

const escapeName = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

function propertyNames(value: unknown): string[] {
  const names = new Set<string>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part !== "object" || part === null) continue;
    if (!Array.isArray(part)) for (const name of Object.keys(part)) names.add(name);
    for (const inner of Object.values(part)) open.push(inner);
  }
  return [...names];
}
