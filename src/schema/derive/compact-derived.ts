/** Writes derived schemas and descriptions with fewer tokens, as the option `compact` of the adapters asks. */

import { ConfigError, type ConfigIssue } from "../../errors/config-error.js";
import { cutText, tidyText } from "../../util/shorten-text.js";
import { ChangeLog } from "./change-log.js";
import { compactSchema } from "./compact-schema.js";
import type { DerivedSchema, SchemaChange, SchemaTarget } from "./derived-schema.js";
import { shareRepeatedParts } from "./repeated-parts.js";

/** Steps that save more tokens than the safe ones. The first two lose text. */
export interface CompactOptions {
  /**
   * Maximum length of the description of a tool, in characters. Longer ones are cut between two words and end with "…".
   * @default no limit
   * @example
   * ```ts
   * { compact: { descriptions: 500 } }
   * ```
   */
  readonly descriptions?: number | undefined;
  /** Maximum length of the description of a parameter, in characters. @default no limit */
  readonly parameters?: number | undefined;
  /**
   * Write parts that are repeated in a schema once, in `$defs`, and refer to them. Only for OpenAI without strict mode and for
   * Anthropic: Gemini does not accept references, and gateways in front of the others may not either.
   * @default false
   */
  readonly defs?: boolean | undefined;
}

/** True: the safe steps. An object: those, and the steps that it names. False: none. */
export type CompactOption = boolean | CompactOptions;

export interface WithCompact {
  /**
   * Leave out of schemas and descriptions what says nothing to a model: needless white space, titles that repeat a name, types that listed values imply.
   * The meaning stays the same. `onChange` reports these changes as `compacted`. Further steps by options. Not with `schema: "source"`.
   * @default true
   * @example
   * ```ts
   * { compact: { descriptions: 500, parameters: 200 } } // cut long descriptions as well
   * ```
   */
  readonly compact?: CompactOption | undefined;
}

/** Shorter limits would leave nothing to read. */
const MIN_LIMIT = 20;
const SAFE: CompactOptions = Object.freeze({});
/** Targets that accept all of JSON Schema below the root: references, and an `enum` without a `type`. */
const LENIENT: ReadonlySet<SchemaTarget> = new Set(["openai", "anthropic"]);
const WITH_TYPE_LISTS: ReadonlySet<SchemaTarget> = new Set([
  "openai",
  "openai-strict",
  "anthropic",
  "gemini-json",
]);

/**
 * The steps of an option; undefined for none.
 * @throws ConfigError for a value that makes no sense; the message names it
 */
export function readCompact(option: CompactOption = true): CompactOptions | undefined {
  if (option === true) return SAFE;
  if (option === false) return undefined;
  const issues = [...problemsOf(option)];
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
  return option;
}

function* problemsOf(option: unknown): Generator<ConfigIssue> {
  if (typeof option !== "object" || option === null)
    return yield { path: "compact", message: "must be true, false or an object" };
  for (const [key, value] of Object.entries(option)) {
    const path = `compact.${key}`;
    if (value === undefined) continue;
    if (key === "descriptions" || key === "parameters") {
      if (!Number.isInteger(value) || value < MIN_LIMIT)
        yield { path, message: `must be a number of characters, at least ${MIN_LIMIT}` };
    } else if (key !== "defs")
      yield { path, message: "is not a known option: descriptions, parameters, defs" };
    else if (typeof value !== "boolean") yield { path, message: "must be true or false" };
  }
}

/** By derived schema, which is cached itself, and by the steps. */
const known = new WeakMap<DerivedSchema, Map<string, DerivedSchema>>();

/** The derived schema, written shorter. Arguments are converted as before. */
export function compactDerived(
  derived: DerivedSchema,
  target: SchemaTarget,
  options: CompactOptions,
): DerivedSchema {
  if (target === "plain") return derived;
  const { parameters, defs = false } = options;
  const bySteps = known.get(derived) ?? new Map<string, DerivedSchema>();
  known.set(derived, bySteps);
  const key = `${parameters} ${defs}`;
  const compact = bySteps.get(key) ?? write(derived, target, { parameters, defs });
  bySteps.set(key, compact);
  return compact;
}

function write(
  derived: DerivedSchema,
  target: SchemaTarget,
  { parameters, defs }: { parameters: number | undefined; defs: boolean },
): DerivedSchema {
  // A schema that strict mode cannot express is sent in the lenient form.
  const form = target === "openai-strict" && !derived.strict ? "openai" : target;
  const log = new ChangeLog();
  const shorter = compactSchema(derived.schema, {
    dropsTypes: LENIENT.has(form),
    typeLists: WITH_TYPE_LISTS.has(form),
    parameters,
    onChange: (path, keyword, detail) => log.add("compacted", keyword, [path], detail),
  });
  const schema = defs && LENIENT.has(form) ? shareRepeatedParts(shorter) : shorter;
  if (schema !== shorter) log.add("compacted", "$defs", ["#"], "repeated parts are written once");
  return schema === derived.schema
    ? derived
    : { ...derived, schema, changes: [...derived.changes, ...log.list()] };
}

/** The description of a tool, written shorter. */
export function compactDescription(
  description: string | undefined,
  { descriptions }: CompactOptions,
): string | undefined {
  if (description === undefined) return undefined;
  const tidy = tidyText(description);
  return descriptions === undefined ? tidy : cutText(tidy, descriptions);
}

/** The change of a tool's own description, which stands outside of the schema; undefined if there is none. */
export function descriptionChange(
  before: string | undefined,
  after: string | undefined,
): SchemaChange | undefined {
  if (before === after) return undefined;
  const isCut = after !== (before && tidyText(before));
  const detail = isCut ? "the description of the tool was cut" : "white space in the description of the tool";
  return { path: "", keyword: "description", what: "compacted", detail };
}
