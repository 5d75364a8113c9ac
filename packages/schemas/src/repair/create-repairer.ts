/** Repairs invalid values within the time budget: changes as little as possible until they match. Loaded by a dynamic import only. */

import { oncePerObject, pushTo } from "@toolport/base";
import { boundedRun } from "#run-bounded";
import { TIMED_OUT } from "../bounded/bounded-run.js";
import { loadLinearEngine } from "../built-in-check.js";
import { NEVER, type SchemaNode } from "../compile-schema.js";
import { propertyPath, shorten } from "../explain-errors.js";
import { isOfType, isRecord, type JsonSchema } from "../json-schema.js";
import { isSameJson, setKey } from "../json-value.js";
import type {
  ArgumentRepair,
  Repairer,
  RepairOutcome,
  RepairRequest,
  SchemaCheck,
  SchemaValidatorFactory,
} from "../schema-validator.js";
import { builtInParts, ownParts, type Part, PartNotCheckable, type SchemaParts } from "./schema-parts.js";

/** How long a schema on which a repairValue timed out is not tried again. */
const SLOW_FOR_MS = 60_000;
const slowUntil = new WeakMap<SchemaParts, number>();

/** Creates a repairer with its own cache of lenient schemas. @param own the user's validator, and the check that calls it */
export function createRepairer(
  own: { readonly validator: SchemaValidatorFactory; readonly check: SchemaCheck } | undefined,
): Repairer {
  const builtIn = oncePerObject(builtInParts);
  const owned = own && oncePerObject((schema: JsonSchema) => ownParts(own.validator, schema, own.check));

  return async (schema, value, request) => {
    await loadLinearEngine();
    const refused: RepairOutcome = { kind: "refused", issues: request.issues };
    const run = (parts: SchemaParts | string, more: RunOptions = {}): RepairOutcome =>
      typeof parts === "string" ? refused : runBounded(parts, value, { ...request, ...more });
    try {
      if (owned === undefined) return run(builtIn(schema));
      try {
        return run(owned(schema));
      } catch (error) {
        if (!(error instanceof PartNotCheckable)) throw error;
        // The user's validator handles whole schemas only: it checks the result, the built-in one finds the places.
        const whole = owned(schema) as SchemaParts;
        return run(builtIn(schema), { maxLevels: 1, issuesOf: whole.strictIssues });
      }
    } catch {
      // Too many steps, no time left, or a value that overflows the stack of the validator.
      return refused;
    }
  };
}

interface RunOptions {
  readonly maxLevels?: number;
  /** Finds the issues of a whole value, instead of `parts`. */
  readonly issuesOf?: SchemaParts["issues"];
}

function runBounded(parts: SchemaParts, value: unknown, options: RepairRequest & RunOptions): RepairOutcome {
  const { budget, fairMs } = options;
  const startedAt = performance.now();
  if (budget.leftMs < 1 || startedAt < (slowUntil.get(parts) ?? 0)) throw new RepairGivenUp();
  const deadline = startedAt + budget.leftMs;
  const task = () => repairValue(parts, value, { ...options, deadline });
  try {
    const outcome = parts.lenient.compiled.risky ? boundedRun.run(task, budget.leftMs) : task();
    if (outcome !== TIMED_OUT) return outcome;
    if (budget.leftMs >= fairMs) slowUntil.set(parts, performance.now() + SLOW_FOR_MS);
    throw new RepairGivenUp();
  } finally {
    budget.leftMs -= performance.now() - startedAt;
  }
}

function repairValue(
  parts: SchemaParts,
  value: unknown,
  options: RepairRequest & RunOptions & { deadline: number },
): RepairOutcome {
  const { deadline, maxLevels = MAX_LEVELS, issuesOf = parts.issues, refill } = options;
  if (parts.lenient.isWider && issuesOf(value).length === 0) return { kind: "contradicts" };
  const {
    value: repaired,
    repairs,
    isWhole,
  } = new ValueRepairer(parts, { maxLevels, deadline }).repairInvalid(value);
  const left = isWhole && issuesOf === parts.issues ? [] : issuesOf(repaired);
  const issues = repairs.length === 0 && left.length === 0 ? options.issues : left;
  if (issues.length > 0) return { kind: "refused", issues };
  const refilled = repairs.some(({ change }) => change === "left out") ? refill?.(repaired) : undefined;
  // An invalid default is a mistake in the schema and must not fail the call.
  const final = refilled !== undefined && issuesOf(refilled).length === 0 ? refilled : repaired;
  const contradicts = parts.lenient.isWider && parts.strictIssues(final).length > 0;
  return { kind: "repaired", value: final, repairs, contradicts };
}

/** A value with every possible repair. */
interface RepairedValue {
  readonly value: unknown;
  readonly repairs: readonly ArgumentRepair[];
  /** The value matches the schema now. */
  readonly isWhole: boolean;
}

/** The search took more steps or time than it may. */
class RepairGivenUp extends Error {}

export const MAX_LEVELS = 24;
const MAX_STEPS = 2_000;
/** Repairing one property can change what the schema requires of another (`if`, `dependentSchemas`). */
const MAX_ROUNDS = 3;

interface Place {
  readonly path: string;
  readonly level: number;
  /** The value was wrapped in a list here, and is not wrapped again. */
  readonly isItem?: boolean;
}

/** What a value has to match: all of `nodes`, and one of each of `choices`. */
interface Demands {
  readonly nodes: readonly SchemaNode[];
  readonly choices: readonly (readonly Part[])[];
  /** True if the requirements depend on the value. */
  readonly isConditional: boolean;
}

const TOP: Place = { path: "$", level: 0 };

const asIs = (value: unknown, isWhole: boolean): RepairedValue => ({ value, repairs: [], isWhole });

export class ValueRepairer {
  #steps = 0;

  /** @param limits `deadline`: when the search ends (`performance.now()`) */
  constructor(
    private readonly parts: SchemaParts,
    private readonly limits: { readonly maxLevels: number; readonly deadline: number },
  ) {}

  repair(value: unknown): RepairedValue {
    return this.#repair([this.parts.lenient.compiled.root], value, TOP);
  }

  /** The same for a value that is known to be invalid, which saves one check. */
  repairInvalid(value: unknown): RepairedValue {
    return this.#repairInvalid([this.parts.lenient.compiled.root], value, TOP);
  }

  #repair(parts: readonly Part[], value: unknown, place: Place): RepairedValue {
    if (this.#fits(parts, value)) return asIs(value, true);
    return place.level > this.limits.maxLevels
      ? asIs(value, false)
      : this.#repairInvalid(parts, value, place);
  }

  #repairInvalid(parts: readonly Part[], value: unknown, place: Place): RepairedValue {
    let repaired = asIs(value, false);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      this.#step();
      const demands = this.#demands(parts, repaired.value);
      const next = this.#choose(demands, repaired.value, place);
      if (next.repairs.length === 0) break;
      const repairs = [...repaired.repairs, ...next.repairs];
      repaired = { value: next.value, repairs, isWhole: this.#fits(parts, next.value) };
      if (repaired.isWhole || !demands.isConditional || kindOf(repaired.value) !== kindOf(value)) break;
    }
    return repaired;
  }

  /** Tries every alternative and takes the one with the fewest changes. If two of them differ, there is no repair. */
  #choose({ nodes, choices, isConditional }: Demands, value: unknown, place: Place): RepairedValue {
    const [alternatives, ...others] = choices;
    if (alternatives === undefined) return this.#repairPlain(nodes, value, place);
    const fitting = alternatives.filter((part) => this.#fits([part], value));
    const candidates = fitting.length > 0 ? fitting : alternatives;
    const results = candidates.map((part) => {
      this.#step();
      const inner = this.#demands([part], value);
      const more = { nodes: [...nodes, ...inner.nodes], choices: [...others, ...inner.choices] };
      const repaired = this.#choose({ ...more, isConditional }, value, place);
      return { ...repaired, isWhole: this.#fits([...nodes, part], repaired.value) };
    });
    if (results.length === 1) return results[0]!;
    const whole = results.filter(({ isWhole }) => isWhole);
    const fewest = Math.min(...whole.map(({ repairs }) => repairs.length));
    const [best, ...rivals] = whole.filter(({ repairs }) => repairs.length === fewest);
    const isClear = best !== undefined && rivals.every((rival) => isSameJson(rival.value, best.value));
    return isClear ? best : asIs(value, false);
  }

  /** The schemas that apply to the same value, with the conditions that are met. */
  #demands(parts: readonly Part[], value: unknown): Demands {
    const nodes: SchemaNode[] = [];
    const choices: (readonly Part[])[] = [];
    const seen = new Set<Part>();
    const open: (Part | undefined)[] = [...parts].reverse();
    let isConditional = false;
    while (open.length > 0) {
      const part = open.pop();
      if (part === undefined || part === true || seen.has(part)) continue;
      seen.add(part);
      nodes.push(part);
      const { $ref, allOf, anyOf, if: condition, dependentSchemas } = part;
      if (typeof $ref === "string") open.push(this.parts.lenient.compiled.targets[$ref]);
      if (Array.isArray(allOf)) open.push(...allOf);
      // The lenient reading has no `oneOf`.
      if (Array.isArray(anyOf)) choices.push(anyOf);
      isConditional ||= [anyOf, condition, dependentSchemas].some((keyword) => keyword !== undefined);
      if (condition !== undefined) {
        const branch = this.#fits([condition as Part], value) ? "then" : "else";
        open.push(part[branch] as Part | undefined);
      }
      if (dependentSchemas !== undefined && isRecord(value))
        for (const [name, dependent] of Object.entries(dependentSchemas as Record<string, Part>))
          if (Object.hasOwn(value, name)) open.push(dependent);
    }
    return { nodes, choices, isConditional };
  }

  #repairPlain(nodes: readonly SchemaNode[], value: unknown, place: Place): RepairedValue {
    const kind = kindOf(value);
    const kinds = allowedKinds(nodes);
    if (kind === "object" && kinds.has("object"))
      return this.#repairObject(nodes, value as Record<string, unknown>, place);
    if (kind === "array" && kinds.has("array")) return this.#repairList(nodes, value as unknown[], place);
    let partly: RepairedValue | undefined;
    for (const candidate of candidatesFor(value, nodes)) {
      const isList = candidate.change === "one value to a list";
      if (isList && place.isItem) continue;
      // One rule for a plain value; lists and objects are repaired inside.
      const inner =
        typeof candidate.value === "object"
          ? this.#repair(nodes, candidate.value, { ...place, isItem: isList || place.isItem === true })
          : asIs(candidate.value, this.#fits(nodes, candidate.value));
      const repairs = [{ path: place.path, change: candidate.change }, ...inner.repairs];
      if (inner.isWhole) return { ...inner, repairs };
      // The type is right now, so the remaining issues say more.
      if (!kinds.has(kind)) partly ??= { ...inner, repairs };
    }
    return partly ?? asIs(value, false);
  }

  #repairList(
    nodes: readonly SchemaNode[],
    list: readonly unknown[],
    { path, level, isItem }: Place,
  ): RepairedValue {
    const repairs: ArgumentRepair[] = [];
    const value = list.map((item, index) => {
      const place = { path: shorten(`${path}[${index}]`), level: level + 1, isItem: isItem === true };
      const repaired = this.#repair(itemParts(nodes, index), item, place);
      repairs.push(...repaired.repairs);
      return repaired.value;
    });
    return { value: repairs.length === 0 ? list : value, repairs, isWhole: false };
  }

  #repairObject(
    nodes: readonly SchemaNode[],
    object: Readonly<Record<string, unknown>>,
    { path, level }: Place,
  ): RepairedValue {
    const required = new Set(nodes.flatMap((node) => (node["required"] as string[] | undefined) ?? []));
    const declared = new Set(nodes.flatMap((node) => Object.keys((node["properties"] as object) ?? {})));
    const targets = this.#renames(nodes, object, { declared, required });
    const at = (name: string) => shorten(path + propertyPath(name));
    const repairs: ArgumentRepair[] = [];
    const value: Record<string, unknown> = {};
    for (const [name, given] of Object.entries(object)) {
      const target = targets.get(name);
      if (target !== undefined) repairs.push({ path: at(name), change: "renamed", to: target });
      const known = target ?? name;
      const parts = this.#propertyParts(nodes, known);
      const isUnknown = parts.includes(NEVER);
      const mayGo = !required.has(known);
      if (given === null && mayGo && !this.#fits(parts, given)) {
        repairs.push({ path: at(known), change: "left out" });
        continue;
      }
      const repaired = isUnknown
        ? asIs(given, false)
        : this.#repair(parts, given, { path: at(known), level: level + 1 });
      if (!repaired.isWhole && mayGo && declared.has(known) && isPlaceholder(given)) {
        repairs.push({ path: at(known), change: "left out" });
        continue;
      }
      repairs.push(...repaired.repairs);
      setKey(value, known, repaired.value);
    }
    return { value: repairs.length === 0 ? object : value, repairs, isWhole: false };
  }

  /** Properties written in another style than the one that is declared and missing: `maxResults` for `max_results`. */
  #renames(
    nodes: readonly SchemaNode[],
    object: Readonly<Record<string, unknown>>,
    { declared, required }: { declared: ReadonlySet<string>; required: ReadonlySet<string> },
  ): ReadonlyMap<string, string> {
    const targets = new Map<string, string>();
    const unknown = Object.keys(object).filter((name) => !declared.has(name) && object[name] !== null);
    if (unknown.length === 0) return targets;
    const candidates = byLetters([...declared].filter((name) => !Object.hasOwn(object, name)));
    for (const [letters, [name, ...others]] of byLetters(unknown)) {
      const [target, ...rivals] = candidates.get(letters) ?? [];
      if (name === undefined || target === undefined || others.length > 0 || rivals.length > 0) continue;
      if (required.has(target) || this.#propertyParts(nodes, name).includes(NEVER)) targets.set(name, target);
    }
    return targets;
  }

  /** Every schema that a property has to match. Contains `NEVER` if the object is closed and does not declare it. */
  #propertyParts(nodes: readonly SchemaNode[], name: string): Part[] {
    const parts: Part[] = [];
    for (const node of nodes) {
      const before = parts.length;
      const own = node["properties"] as Record<string, Part> | undefined;
      if (own !== undefined && Object.hasOwn(own, name)) parts.push(own[name]!);
      if (node["patternProperties"] !== undefined) parts.push(...this.parts.patternParts(node, name));
      const others = node["additionalProperties"] as Part | undefined;
      if (parts.length === before && others !== undefined) parts.push(others);
    }
    if (parts.length > 0) return parts;
    const unevaluated = nodes.map((node) => node["unevaluatedProperties"] as Part | undefined);
    return unevaluated.filter((part) => part !== undefined);
  }

  #fits(parts: readonly Part[], value: unknown): boolean {
    if (performance.now() > this.limits.deadline) throw new RepairGivenUp();
    return parts.every((part) => this.parts.fits(part, value));
  }

  #step(): void {
    this.#steps += 1;
    if (this.#steps > MAX_STEPS) throw new RepairGivenUp();
  }
}

/** Names by their letters and digits; those without any are left out. */
function byLetters(names: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const letters = lettersOf(name);
    if (letters !== "") pushTo(groups, letters, name);
  }
  return groups;
}

/** Every schema that an item has to match. */
function itemParts(nodes: readonly SchemaNode[], index: number): Part[] {
  return nodes.flatMap(({ prefixItems, items, additionalItems }): Part[] => {
    const prefix = (Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []) as Part[];
    if (index < prefix.length) return [prefix[index]!];
    const rest = (Array.isArray(items) ? additionalItems : items) as Part | undefined;
    return rest === undefined ? [] : [rest];
  });
}

/** The kinds of value that `type`, `enum` and `const` allow. */
type Kind = "null" | "boolean" | "number" | "string" | "array" | "object";

const KINDS: readonly Kind[] = ["null", "boolean", "number", "string", "array", "object"];
const MAX_JSON_TEXT = 1024 * 1024;
/** A number as JSON writes it: no leading zeros, no hexadecimal, no separators. */
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  TRUE: true,
  false: false,
  False: false,
  FALSE: false,
};
/** What models write for "no value". */
const PLACEHOLDERS: readonly unknown[] = ["", "null", "None"];

export const kindOf = (value: unknown): Kind => KINDS.find((kind) => isOfType(value, kind)) ?? "null";

/** The kinds that all of these schemas allow. */
export function allowedKinds(nodes: readonly SchemaNode[]): ReadonlySet<Kind> {
  let kinds = KINDS;
  for (const { type, enum: choices, const: only } of nodes) {
    if (type !== undefined) {
      const types = (Array.isArray(type) ? type : [type]).map((name) =>
        name === "integer" ? "number" : name,
      );
      kinds = kinds.filter((kind) => types.includes(kind));
    }
    const allowed = Array.isArray(choices) ? choices : only === undefined ? undefined : [only];
    if (allowed !== undefined) {
      const present = allowed.map(kindOf);
      kinds = kinds.filter((kind) => present.includes(kind));
    }
  }
  return new Set(kinds);
}

/** A value that means "not given". */
export const isPlaceholder = (value: unknown): boolean =>
  PLACEHOLDERS.includes(value) || (isOfType(value, "object") && Object.keys(value as object).length === 0);

/** Parses a text as a JSON object or list; undefined if a number in it would lose digits. */
function parseJsonText(text: string): unknown {
  const trimmed = text.trim();
  if (text.length > MAX_JSON_TEXT || !/^[[{]/.test(trimmed)) return undefined;
  let isExact = true;
  try {
    const parsed: unknown = JSON.parse(trimmed, (_key, value) => {
      if (typeof value === "number" && !isExactNumber(value)) isExact = false;
      return value;
    });
    return isExact ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const isExactNumber = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));

function textToNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return isExactNumber(value) ? value : undefined;
}

const textToBoolean = (text: string): boolean | undefined =>
  Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;

/** The one member of an enum or constant that differs from the text in case alone. */
function otherCase(text: string, nodes: readonly SchemaNode[]): string | undefined {
  const wanted = text.toLowerCase();
  const found = new Set<string>();
  for (const { enum: choices, const: only } of nodes)
    for (const choice of Array.isArray(choices) ? choices : [only])
      if (typeof choice === "string" && choice.toLowerCase() === wanted) found.add(choice);
  const [member] = found;
  return found.size === 1 && member !== text ? member : undefined;
}

/** Not for fractions: 1.1 may have been meant as 1.1 or as 1.10. */
const numberToText = (value: number): string | undefined =>
  Number.isSafeInteger(value) ? String(value) : undefined;

/** Whether a value may become the only item of a list. Several values in one text may not. */
function isOneItem(value: unknown): boolean {
  if (value === null || Array.isArray(value) || isPlaceholder(value)) return false;
  return typeof value !== "string" || !(/[,;\r\n]/.test(value) || /^\s*[[{"]/.test(value));
}

/** The letters and digits of a name: `maxResults` and `max_results` have the same. */
export const lettersOf = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/** The candidates that the rules produce for one value, best first, each with the change that makes it. */
export function* candidatesFor(
  value: unknown,
  nodes: readonly SchemaNode[],
): Generator<{ readonly value: unknown; readonly change: ArgumentRepair["change"] }> {
  const kinds = allowedKinds(nodes);
  if (typeof value === "string") {
    if (!kinds.has("string")) {
      const parsed = parseJsonText(value);
      if (parsed !== undefined && kinds.has(kindOf(parsed)))
        yield { value: parsed, change: "parsed JSON text" };
    }
    const number = kinds.has("number") ? textToNumber(value) : undefined;
    if (number !== undefined) yield { value: number, change: "text to number" };
    const flag = kinds.has("boolean") ? textToBoolean(value) : undefined;
    if (flag !== undefined) yield { value: flag, change: "text to boolean" };
    const member = otherCase(value, nodes);
    if (member !== undefined) yield { value: member, change: "other case" };
  }
  if (typeof value === "number" && kinds.has("string")) {
    const text = numberToText(value);
    if (text !== undefined) yield { value: text, change: "number to text" };
  }
  if (kinds.has("array") && isOneItem(value)) yield { value: [value], change: "one value to a list" };
}
