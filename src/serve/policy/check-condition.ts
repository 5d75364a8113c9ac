/** Checks the conditions of a policy. A condition that could never hold is a mistake: a rule that denies would be without effect. */
import type { ConfigIssues, ConfigPath } from "../../config/config-issues.js";
import { EntryReader } from "../../config/entry-reader.js";
import { isRecord } from "../../util/is-record.js";
import { problemOfPathPattern } from "./argument-path.js";
import type { ArgumentTest } from "./policy-document.js";
import { readPattern } from "./resource-uri.js";

/** What a value must be. */
const OPERATORS: readonly (keyof ArgumentTest)[] = [
  "glob",
  "regex",
  "equals",
  "min",
  "max",
  "present",
  "not",
];
const TEST_FIELDS: readonly (keyof ArgumentTest)[] = [...OPERATORS, "ignoreCase", "match", "path"];
/** Depth of `not` in `not`. */
const MAX_NESTED = 16;

export interface Findings {
  readonly issues: ConfigIssues;
  /** Every regular expression. */
  readonly patterns: Set<string>;
}

/** A text or a list of texts; for users also an object. Empty ones would never apply, so they are mistakes. */
export function checkPattern(reader: EntryReader, field: string): void {
  const value = reader.raw(field);
  if (field === "user" && isRecord(value)) {
    const inner = reader.inner(field)!;
    inner.rejectUnknown(["issuer", "subject"]);
    if (inner.keys.length === 0) reader.report(field, 'must have "issuer" or "subject"');
    for (const part of ["issuer", "subject"]) checkPattern(inner, part);
  } else if (Array.isArray(value)) {
    if (value.length === 0) reader.report(field, "must not be empty");
    for (const [index, item] of value.entries())
      if (typeof item !== "string" || item === "")
        reader.report([field, index], "must be a text that is not empty");
  } else reader.text(field);
  if (field === "resource") checkUris(reader);
}

/** Another way to write a URI would match nothing. */
function checkUris(reader: EntryReader): void {
  for (const pattern of [reader.raw("resource")].flat()) {
    const corrected = typeof pattern === "string" ? readPattern(pattern)?.uri : undefined;
    if (corrected !== undefined && corrected !== pattern)
      reader.report(
        "resource",
        `is never the form that URIs are compared in: write ${JSON.stringify(corrected)}`,
      );
  }
}

interface Place {
  readonly path: ConfigPath;
  readonly findings: Findings;
  /** Number of `not` around it. */
  readonly depth: number;
}

export function checkCondition(value: unknown, { path, findings, depth }: Place): void {
  const { issues, patterns } = findings;
  if (typeof value === "string" || typeof value === "boolean" || value === null) return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (!isRecord(value)) return issues.add(path, "must be a text, a number, true, false, null or an object");
  if (depth > MAX_NESTED) return issues.add(path, "is nested too deeply");
  const reader = new EntryReader(value, path, issues);
  reader.rejectUnknown(TEST_FIELDS);
  if (!OPERATORS.some((field) => reader.has(field)))
    issues.add(path, `must have one of ${OPERATORS.join(", ")}`);
  checkPattern(reader, "glob");
  const regex = reader.text("regex");
  if (regex !== undefined) patterns.add(regex);
  checkRange(reader);
  const equals = reader.raw("equals");
  if (typeof equals === "object" && equals !== null)
    reader.report("equals", "must be a text, a number, true, false or null");
  reader.flag("ignoreCase");
  reader.flag("present");
  reader.flag("path");
  if (reader.raw("path") === true) checkPath(value as ArgumentTest, reader);
  reader.choice("match", ["every", "some"]);
  if (reader.raw("ignoreCase") === true && !reader.has("glob") && !reader.has("regex"))
    reader.report("ignoreCase", 'has no effect without "glob" or "regex" beside it');
  if (depth > 0) rejectInNot(reader);
  else if (reader.raw("present") === false && reader.keys.length > 1)
    reader.report("present", "is false, so no other condition can hold");
  if (reader.has("not"))
    checkCondition(reader.raw("not"), { path: [...path, "not"], findings, depth: depth + 1 });
}

function checkRange(reader: EntryReader): void {
  const [min, max] = ["min", "max"].map((bound) => {
    const number = reader.raw(bound);
    if (typeof number === "number" && Number.isFinite(number)) return number;
    return number === undefined ? undefined : reader.report(bound, "must be a number");
  });
  if (min !== undefined && max !== undefined && min > max)
    reader.report("min", 'is larger than "max", so no number is in the range');
}

/** What a path is compared with has to be in the form that paths are compared in. */
function checkPath(test: ArgumentTest, reader: EntryReader): void {
  const { glob, equals, not, regex } = test;
  if (glob === undefined && equals === undefined && not === undefined && regex === undefined)
    reader.report("path", 'has no effect without "glob", "regex", "equals" or "not" beside it');
  for (const [field, patterns] of pathPatterns(test)) {
    const problem = patterns
      .map((pattern) => problemOfPathPattern(pattern, test.ignoreCase === true))
      .find((found) => found !== undefined);
    if (problem !== undefined) reader.report(field, problem);
  }
}

function pathPatterns({ glob, equals, not }: ArgumentTest): [string, string[]][] {
  const texts = (value: unknown) => [value].flat().filter((text) => typeof text === "string" && text !== "");
  const inner = typeof not === "string" ? { glob: not } : isRecord(not) ? (not as ArgumentTest) : {};
  const ofNot = not === undefined ? [] : pathPatterns(inner).flatMap(([, patterns]) => patterns);
  return [
    ["glob", texts(glob) as string[]],
    ["equals", texts(equals) as string[]],
    ["not", ofNot],
  ];
}

/** `not` is about one value, and these are about the argument as a whole. */
function rejectInNot(reader: EntryReader): void {
  if (reader.has("present"))
    reader.report(
      "present",
      'has no effect inside "not": write "present": false beside the pointer for a missing argument, "present": true for one that is given',
    );
  if (reader.has("path")) reader.report("path", 'has no effect inside "not": write it beside "not"');
  if (reader.has("match")) reader.report("match", 'has no effect inside "not": write it beside "not"');
}
