/** `repairArguments` itself, reached by a dynamic import only. */
import { createSchemaValidator } from "../create-validator.js";
import type { JsonSchema } from "../json-schema.js";
import type { RepairedArguments } from "../repair-arguments.js";

const validator = createSchemaValidator();

export async function repairWithoutPort(
  schema: JsonSchema,
  args: Readonly<Record<string, unknown>>,
): Promise<RepairedArguments> {
  const budget = validator.createBudget();
  const issues = await validator.validate(schema, args, budget);
  if (issues.length === 0) return { args, repaired: [], issues };
  const outcome = await validator.repair(schema, args, { issues, budget });
  if (outcome.kind === "refused") return { args, repaired: [], issues: outcome.issues };
  if (outcome.kind === "contradicts") return { args, repaired: [], issues: [] };
  return { args: outcome.value as Record<string, unknown>, repaired: outcome.repairs, issues: [] };
}
