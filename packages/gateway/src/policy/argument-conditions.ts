/** Conditions on the arguments of a call, compiled from JSON pointers, globs, patterns and ranges. */

import { compileNames } from "@toolport/base";
import { readingsOfPath } from "./argument-path.js";
import type { ArgumentCondition, ArgumentTest, PolicyEffect, TextPattern } from "./policy.js";

export type ArgumentsMatcher = (args: Readonly<Record<string, unknown>>) => boolean;

/** Compiles a pattern to a linear-time test. @throws Error that says why the pattern is not usable */
export type RegexCompiler = (pattern: string, ignoreCase: boolean) => TextMatcher;

type ValueMatcher = (value: unknown) => boolean;

/** With more values or deeper arrays than this, or an unclear path, a rule that allows does not apply, and every other rule does. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 64;

interface Search {
  readonly steps: readonly string[];
  readonly matches: ValueMatcher;
  readonly isEvery: boolean;
  found: number;
  /** The answer is known: a match for "some", a mismatch for "every". */
  isDecided: boolean;
  /** A value that can be read in more than one way. */
  isUnclear: boolean;
  readonly isPath: boolean;
  /** A path that servers read in several known ways has to match in each of them. Else one of them is enough. */
  readonly isAllow: boolean;
}

/** Compiles all conditions of a rule. They all have to hold. */
export function compileArguments(
  conditions: Readonly<Record<string, ArgumentCondition>>,
  effect: PolicyEffect,
  regex: RegexCompiler,
): ArgumentsMatcher {
  const matchers = Object.entries(conditions).map(([pointer, condition]) =>
    compileCondition(readPointer(pointer)!, condition, { effect, regex }),
  );
  return (args) => {
    for (const matches of matchers) if (!matches(args)) return false;
    return true;
  };
}

/** The steps of a JSON pointer; undefined if it is not one. */
export function readPointer(pointer: string): string[] | undefined {
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function compileCondition(
  steps: readonly string[],
  condition: ArgumentCondition,
  { effect, regex }: { effect: PolicyEffect; regex: RegexCompiler },
): ArgumentsMatcher {
  const matches = compileTest(condition, regex);
  const test = isTest(condition) ? condition : {};
  const isEvery = (test.match ?? (effect === "allow" ? "every" : "some")) === "every";
  const { present, path: isPath = false } = test;
  return (args) => {
    const isAllow = effect === "allow";
    const state = { found: 0, isDecided: false, isUnclear: false };
    const search: Search = { steps, matches, isEvery, isPath, isAllow, ...state };
    visit(args, search);
    if (present === false) return search.found === 0;
    if (search.found > MAX_VALUES || search.isUnclear) return effect !== "allow";
    return search.found > 0 && search.isDecided !== isEvery;
  };
}

/**
 * Follows the pointer. An array stands for its elements, because models and the repair of arguments wrap single values.
 *
 * @param step index of the next step of the pointer
 */
function visit(value: unknown, search: Search, step = 0, depth = 0): void {
  const name = search.steps[step];
  const next = name === undefined ? step : step + 1;
  if (depth > MAX_DEPTH) search.found = MAX_VALUES + 1;
  else if (Array.isArray(value)) {
    if (name === undefined && value.length === 0) test(value, search);
    else if (name === undefined || name === "*") visitAll(value, search, next, depth + 1);
    else if (/^(0|[1-9]\d*)$/.test(name) && Number(name) < value.length)
      visit(value[Number(name)], search, next, depth + 1);
  } else if (name === undefined) test(value, search);
  else if (typeof value === "object" && value !== null) {
    if (name === "*") visitAll(Object.values(value), search, next, depth + 1);
    else if (Object.hasOwn(value, name))
      visit((value as Record<string, unknown>)[name], search, next, depth + 1);
  }
}

function visitAll(values: readonly unknown[], search: Search, step: number, depth: number): void {
  for (const value of values) {
    visit(value, search, step, depth);
    if ((search.isDecided && !search.isPath) || search.found > MAX_VALUES || search.isUnclear) return;
  }
}

function test(value: unknown, search: Search): void {
  search.found++;
  const readings = search.isPath && typeof value === "string" ? readingsOfPath(value) : [value];
  if (readings.length === 0) search.isUnclear = true;
  const isMatch = search.isAllow ? readings.every(search.matches) : readings.some(search.matches);
  if (isMatch !== search.isEvery) search.isDecided = true;
}

const isTest = (condition: ArgumentCondition): condition is ArgumentTest =>
  typeof condition === "object" && condition !== null;

function compileTest(condition: ArgumentCondition, regex: RegexCompiler): ValueMatcher {
  if (typeof condition === "string") return compileTest({ glob: condition }, regex);
  if (!isTest(condition)) return compileTest({ equals: condition }, regex);
  const { glob, equals, min, max, ignoreCase = false, not } = condition;
  const tests: ValueMatcher[] = [];
  if (glob !== undefined) tests.push(onText(compileText(glob, ignoreCase)));
  if (condition.regex !== undefined) tests.push(onText(regex(condition.regex, ignoreCase)));
  if (equals !== undefined) tests.push(isEqual(equals));
  if (min !== undefined) tests.push((value) => (toNumber(value) ?? Number.NaN) >= min);
  if (max !== undefined) tests.push((value) => (toNumber(value) ?? Number.NaN) <= max);
  if (not !== undefined) {
    const inner = compileTest(not, regex);
    tests.push((value) => !inner(value));
  }
  return (value) => {
    for (const holds of tests) if (!holds(value)) return false;
    return true;
  };
}

function onText(matches: TextMatcher): ValueMatcher {
  return (value) => {
    if (typeof value === "string") return matches(value);
    return typeof value === "number" || typeof value === "boolean" ? matches(String(value)) : false;
  };
}

/** A number that arrives as text is the same number: servers and the repair of arguments convert it. */
const isEqual = (wanted: unknown): ValueMatcher =>
  typeof wanted === "number"
    ? (value) => toNumber(value) === wanted
    : (value) => value === wanted || (typeof wanted === "boolean" && value === String(wanted));

function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

export type TextMatcher = (text: string) => boolean;

/** Compiles a pattern or a list of them. A text matches if one of them does. */
export function compileText(pattern: TextPattern, ignoreCase = false): TextMatcher {
  const patterns = typeof pattern === "string" ? [pattern] : pattern;
  if (!ignoreCase) return compileNames(patterns);
  const matches = compileNames(patterns.map((one) => one.toLowerCase()));
  return (text) => matches(text.toLowerCase());
}
