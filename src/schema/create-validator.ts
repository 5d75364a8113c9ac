/** Validates arguments and results against the schemas of servers, which are not trusted. */

import { isObject, type JsonSchema } from "./json-schema.js";
import { toJsonValue } from "./json-value.js";
import { type Acceptance, compilePlainSchema } from "./plain-schema.js";
import type {
  PreparableCheck,
  Repairer,
  SchemaValidator,
  SchemaValidatorFactory,
  SchemaValidatorOptions,
  ValidationBudget,
} from "./schema-validator.js";
import { MAX_ISSUES, uncheckedIssue } from "./validation-issue.js";

export type { SchemaValidator, SchemaValidatorFactory, SchemaValidatorOptions } from "./schema-validator.js";

const DEFAULT_TIMEOUT_MS = 200;

/**
 * Creates a validator.
 *
 * `$schema` selects the draft; the default is 2020-12. The formats of `@cfworker/json-schema` are checked
 * (date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uri-template, url, uuid and
 * the JSON pointers); others are ignored. A value is checked as it will be sent: `undefined` properties are left out.
 */
export function createSchemaValidator(options: SchemaValidatorOptions = {}): SchemaValidator {
  const { validator, timeoutMs = DEFAULT_TIMEOUT_MS, onSkippedPattern } = options;
  const createBudget = (): ValidationBudget => ({ leftMs: timeoutMs });
  const fairMs = timeoutMs / 2;
  const { check, prepare } = validator ? ownCheck(validator) : lazyCheck(fairMs, onSkippedPattern);
  let repairer: Promise<Repairer> | undefined;
  const loadRepairer = async (): Promise<Repairer> => {
    const { createRepairer } = await import("./repair/create-repairer.js");
    return createRepairer(validator && { validator, check });
  };
  return {
    createBudget,
    prepare,
    validate(schema, value, budget = createBudget()) {
      if (validator === undefined && shortcutOf(schema)?.(value)) return [];
      const seen = toJsonValue(value);
      if ("problem" in seen) return [{ path: "$", message: seen.problem }];
      // A boolean is a valid JSON Schema, but not a valid schema of a tool.
      if (!isObject(schema)) return [uncheckedIssue("$", "the schema is not an object")];
      return check(schema, seen.value, budget);
    },
    async repair(schema, value, request) {
      const { issues } = request;
      // The schema could not be applied, so the server decides.
      if (issues.every(({ unchecked }) => unchecked)) return { kind: "contradicts" };
      const seen = toJsonValue(value);
      if ("problem" in seen) return { kind: "refused", issues };
      repairer ??= loadRepairer();
      return (await repairer)(schema, seen.value, { ...request, fairMs });
    },
  };
}

const shortcuts = new WeakMap<JsonSchema, Acceptance | null>();

/** Compiled once per schema. */
function shortcutOf(schema: JsonSchema): Acceptance | null | undefined {
  if (!isObject(schema)) return undefined;
  let shortcut = shortcuts.get(schema);
  if (shortcut === undefined) {
    shortcut = compilePlainSchema(schema) ?? null;
    shortcuts.set(schema, shortcut);
  }
  return shortcut;
}

function lazyCheck(
  fairMs: number,
  onSkippedPattern: SchemaValidatorOptions["onSkippedPattern"],
): PreparableCheck {
  let loaded: PreparableCheck | undefined;
  const load = async (): Promise<PreparableCheck> => {
    const { createBuiltInCheck } = await import("./built-in-check.js");
    loaded ??= createBuiltInCheck(fairMs, onSkippedPattern);
    return loaded;
  };
  return {
    check(schema, value, budget) {
      if (loaded !== undefined) return loaded.check(schema, value, budget);
      return load().then(({ check }) => check(schema, value, budget));
    },
    prepare: async () => (await load()).prepare(),
  };
}

function ownCheck(validator: SchemaValidatorFactory): PreparableCheck {
  const known = new WeakMap<JsonSchema, ReturnType<SchemaValidatorFactory["compile"]>>();
  return {
    prepare: async () => {},
    check(schema, value) {
      try {
        const check = known.get(schema) ?? validator.compile(schema);
        known.set(schema, check);
        return (check(value) ?? []).slice(0, MAX_ISSUES);
      } catch (error) {
        const reason = error instanceof Error ? error.message : "the validator failed";
        return [uncheckedIssue("$", reason)];
      }
    },
  };
}
