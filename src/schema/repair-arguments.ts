/** The repair of arguments on its own, without a port. */
import type { ArgumentRepair } from "./argument-repair.js";
import type { JsonSchema } from "./json-schema.js";
import type { ValidationIssue } from "./validation-issue.js";

/** What {@link repairArguments} made of arguments. */
export interface RepairedArguments {
  /** The arguments to send: the same object if nothing was changed. */
  readonly args: Readonly<Record<string, unknown>>;
  /** What was changed; empty: nothing. */
  readonly repaired: readonly ArgumentRepair[];
  /** What is still wrong after the repair; empty: `args` can be sent. */
  readonly issues: readonly ValidationIssue[];
}

/**
 * Repairs arguments as `checkArguments: "repair"` does before a call, and sends nothing. Pure: what is given stays as it is.
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
  const { repairWithoutPort } = await import("./repair/repair-without-port.js");
  return repairWithoutPort(schema, args);
}
