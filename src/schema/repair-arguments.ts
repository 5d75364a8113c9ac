/** The repair of arguments on its own, without a port. */
import type { ArgumentRepair } from "./argument-repair.js";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";
import type { SchemaValidator } from "./schema-validator.js";
import type { ValidationIssue } from "./validation-issue.js";

let validator: SchemaValidator | undefined;

/** The result of {@link repairArguments}. */
export interface RepairedArguments {
  /** The arguments to send: the same object if nothing was changed. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The changes; empty if there are none. */
  readonly repaired: readonly ArgumentRepair[];
  /** The remaining issues after the repair; if empty, `args` can be sent. */
  readonly issues: readonly ValidationIssue[];
}

/**
 * Repairs arguments as `checkArguments: "repair"` does before a call, and sends nothing. It does not change its arguments.
 * The code for it is loaded with the first call.
 *
 * @example
 * ```ts
 * const schema = { type: "object", properties: { limit: { type: "integer" }, after: { type: "string" } } };
 * const { args, repaired, issues } = await repairArguments(schema, { limit: "5", after: null });
 * // args: { limit: 5 }; repaired: [{ path: "$.limit", change: "text to number" }, { path: "$.after", change: "left out" }]
 * ```
 */
export async function repairArguments(
  schema: JsonSchema,
  args: Readonly<Record<string, unknown>>,
): Promise<RepairedArguments> {
  validator ??= createSchemaValidator();
  const budget = validator.createBudget();
  const issues = await validator.validate(schema, args, budget);
  if (issues.length === 0) return { args, repaired: [], issues };
  const outcome = await validator.repair(schema, args, { issues, budget });
  if (outcome.kind === "refused") return { args, repaired: [], issues: outcome.issues };
  if (outcome.kind === "contradicts") return { args, repaired: [], issues: [] };
  return { args: outcome.value as Record<string, unknown>, repaired: outcome.repairs, issues: [] };
}
