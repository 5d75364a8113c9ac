/** Reads a policy: checks every field, and reports each problem with its file and line. */

import { ConfigError, ConfigIssues, type ConfigPath, EntryReader, isRecord } from "@toolport/base";
import { type RegexCompiler, readPointer } from "./argument-conditions.js";
import { problemOfPathPattern } from "./argument-path.js";
import { compileRules } from "./compile-rules.js";
import {
  type ArgumentTest,
  fixedPolicy,
  type Policy,
  type PolicyDecision,
  type PolicyDocument,
  type PolicyEffect,
  type PolicyRequest,
  type PolicyRule,
  type ReadRules,
} from "./policy.js";
import { readPattern } from "./resource-uri.js";

const EFFECTS: readonly PolicyEffect[] = ["allow", "deny", "approve"];
const DOCUMENT_FIELDS = ["$schema", "default", "rules"];
const PATTERN_FIELDS = ["server", "tool", "prompt", "resource", "user", "scope"] as const;
const RULE_FIELDS = ["effect", ...PATTERN_FIELDS, "args", "reason"];
const MAX_RULES = 10_000;

/** Options of `readPolicy()`. */
export interface ReadPolicyOptions {
  /** The file that the text comes from; named in errors. @default none */
  readonly file?: string | undefined;
  /**
   * Servers that rules may name although the gateway does not have them, because they are added later. A rule for any other
   * server is an error when the gateway starts.
   * @default none
   */
  readonly knownServers?: readonly string[] | undefined;
}

/**
 * Reads and compiles a policy: an object, or the text of a policy file (JSON with comments).
 *
 * @throws ConfigError that names every problem, with file and line if the policy comes from a file
 * @example
 * ```ts
 * const policy = await readPolicy({
 *   default: "allow",
 *   rules: [{ effect: "approve", server: "mail", tool: "send_*", reason: "Mail leaves the company" }],
 * });
 * ```
 */
export async function readPolicy(
  source: PolicyDocument | string,
  options: ReadPolicyOptions = {},
): Promise<Policy> {
  const { decide, ...rules } = await readRules(source, options);
  return { ...fixedPolicy(decide), source: () => rules };
}

/** Rules, and the function that decides by them. */
export interface CompiledPolicy extends ReadRules {
  readonly decide: (request: PolicyRequest) => PolicyDecision;
}

export async function readRules(
  source: PolicyDocument | string,
  { file, knownServers = [] }: ReadPolicyOptions,
): Promise<CompiledPolicy> {
  const { root, issues, locate } =
    typeof source === "string"
      ? await parseText(source, file)
      : { root: source, issues: new ConfigIssues("policy"), locate: () => undefined };
  const patterns: [path: ConfigPath, pattern: string][] = [];
  const document = readDocument(root, { issues, patterns });
  const regex = patterns.length === 0 ? noRegex : await loadRegex();
  for (const [path, pattern] of patterns) {
    try {
      regex(pattern, false);
    } catch {
      const what = "is not a pattern in RE2 syntax (look-around and back-references are not supported)";
      issues.add([...path, "regex"], what);
    }
  }
  if (issues.list.length > 0)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: `The policy ${file === undefined ? "" : `${file} `}is not valid`,
      issues: issues.list,
      next: "Correct the rules named above; see docs/policies.md",
    });
  return { decide: compileRules(document, regex), document, knownServers, locate };
}

async function parseText(text: string, file = "policy") {
  const { parseJsonConfig } = await import("@toolport/base/json-config");
  const { root, duplicates, lineOf } = parseJsonConfig(file, text);
  const locate = (path: ConfigPath) => ({ file, line: lineOf(path) });
  const issues = new ConfigIssues("policy", locate);
  for (const { path, firstLine } of duplicates)
    issues.add(path, `is given twice; the first one is on line ${firstLine}. Remove one of them`);
  return { root, issues, locate };
}

function readDocument(root: unknown, findings: Findings): PolicyDocument {
  const { issues } = findings;
  const empty: PolicyDocument = { default: "deny", rules: [] };
  if (!isRecord(root)) {
    issues.add([], 'must be an object with "default" and "rules"');
    return empty;
  }
  const reader = new EntryReader(root, [], issues);
  reader.rejectUnknown(DOCUMENT_FIELDS);
  const otherwise = reader.choice("default", EFFECTS);
  if (!reader.has("default"))
    reader.report("default", 'is missing: write "allow" or "deny" for requests to which no rule applies');
  const rules = reader.raw("rules");
  if (!Array.isArray(rules)) {
    reader.report("rules", "must be an array of rules");
    return empty;
  }
  if (rules.length > MAX_RULES) {
    reader.report("rules", `must have at most ${MAX_RULES} rules`);
    return empty;
  }
  return {
    default: otherwise ?? "deny",
    rules: rules.map((rule, index) => readRule(rule, ["rules", index], findings)),
  };
}

function readRule(value: unknown, path: ConfigPath, findings: Findings): PolicyRule {
  const { issues } = findings;
  if (!isRecord(value)) {
    issues.add(path, "must be an object");
    return { effect: "deny" };
  }
  const reader = new EntryReader(value, path, issues);
  reader.rejectUnknown(RULE_FIELDS);
  const effect = reader.choice("effect", EFFECTS);
  if (!reader.has("effect")) reader.report("effect", 'is missing: write "allow", "deny" or "approve"');
  for (const field of PATTERN_FIELDS) checkPattern(reader, field);
  const kinds = ["tool", "prompt", "resource"].filter((kind) => reader.has(kind));
  if (kinds.length > 1)
    issues.add(
      path,
      `has ${kinds.map((kind) => `"${kind}"`).join(" and ")}, so it never applies: make one rule of each`,
    );
  if (reader.has("resource") && reader.has("args"))
    reader.report("args", 'never applies together with "resource": resources have no arguments');
  reader.text("reason");
  if (reader.has("args")) checkArguments(reader, [...path, "args"], findings);
  // The object was checked field by field.
  return { ...(value as Partial<PolicyRule>), effect: effect ?? "deny" };
}

function checkArguments(reader: EntryReader, path: ConfigPath, findings: Findings): void {
  const inner = reader.inner("args");
  if (inner === undefined) return;
  if (inner.keys.length === 0) reader.report("args", "must not be empty");
  for (const pointer of inner.keys) {
    if (readPointer(pointer) === undefined)
      inner.report(
        pointer,
        'must be a JSON pointer that starts with "/", such as "/path" or "/files/*/name"',
      );
    checkCondition(inner.raw(pointer), [...path, pointer], findings);
  }
}

const noRegex: RegexCompiler = () => () => false;

/** Loaded only for policies with patterns: the engine is large. */
async function loadRegex(): Promise<RegexCompiler> {
  const { RE2JS } = await import("re2js");
  return (pattern, ignoreCase) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (text) => compiled.test(text);
  };
}

/** What a value must be. */
const OPERATORS = ["glob", "regex", "equals", "min", "max", "present", "not"] as const;
const TEST_FIELDS: readonly (keyof ArgumentTest)[] = [...OPERATORS, "ignoreCase", "match", "path"];
/** Depth of `not` in `not`. */
const MAX_NESTED = 16;

interface Findings {
  readonly issues: ConfigIssues;
  /** Every regular expression, which is checked when the engine is loaded. */
  readonly patterns: [path: ConfigPath, pattern: string][];
}

/** A text or a list of texts; for users also an object. Empty ones would never apply, so they are mistakes. */
function checkPattern(reader: EntryReader, field: string): void {
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

/** @param depth number of `not` around it */
function checkCondition(value: unknown, path: ConfigPath, findings: Findings, depth = 0): void {
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
  if (regex !== undefined) patterns.push([path, regex]);
  checkRange(reader);
  const equals = reader.raw("equals");
  if (typeof equals === "object" && equals !== null)
    reader.report("equals", "must be a text, a number, true, false or null");
  for (const field of ["ignoreCase", "present", "path"]) reader.flag(field);
  if (reader.raw("path") === true) checkPath(value as ArgumentTest, reader);
  reader.choice("match", ["every", "some"]);
  if (reader.raw("ignoreCase") === true && !reader.has("glob") && !reader.has("regex"))
    reader.report("ignoreCase", 'has no effect without "glob" or "regex" beside it');
  if (depth > 0) rejectInNot(reader);
  else if (reader.raw("present") === false && reader.keys.length > 1)
    reader.report("present", "is false, so no other condition can hold");
  if (reader.has("not")) checkCondition(reader.raw("not"), [...path, "not"], findings, depth + 1);
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
  if (!["glob", "regex", "equals", "not"].some((field) => reader.has(field)))
    reader.report("path", 'has no effect without "glob", "regex", "equals" or "not" beside it');
  for (const field of ["glob", "equals", "not"] as const) {
    const texts = textsIn(field === "not" ? test.not : { [field]: test[field] });
    const problems = texts.map((text) => problemOfPathPattern(text, test.ignoreCase === true));
    const problem = problems.find((each) => each !== undefined);
    if (problem !== undefined) reader.report(field, problem);
  }
}

/** The texts that a condition compares a value with. */
function textsIn(condition: unknown): string[] {
  const { glob, equals, not } = isRecord(condition) ? condition : { glob: condition };
  const texts = [glob, equals].flat().filter((text) => typeof text === "string" && text !== "");
  return not === undefined ? (texts as string[]) : [...(texts as string[]), ...textsIn(not)];
}

/** `not` is about one value, and these are about the argument as a whole. */
function rejectInNot(reader: EntryReader): void {
  if (reader.has("present"))
    reader.report(
      "present",
      'has no effect inside "not": write "present": false beside the pointer for a missing argument, "present": true for one that is given',
    );
  for (const field of ["path", "match"])
    if (reader.has(field)) reader.report(field, 'has no effect inside "not": write it beside "not"');
}
