/** Arguments are checked against the tool's own schema before anything is sent. */
import type { JsonSchema } from "../config/listed-tool.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { applyDefaults } from "../schema/apply-defaults.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import type { CallInterceptor, ToolCall } from "./tool-call.js";

/**
 * Never sends what is wrong: all problems, each with its path.
 *
 * @param validatorOf the validator of the server that is called
 * @param schemaOf the schema as the server sent it, whatever a mapper of the user's shows to models
 */
export function checkArgumentsStep(
  validatorOf: (call: ToolCall) => SchemaValidator,
  schemaOf: (call: ToolCall) => JsonSchema,
): CallInterceptor {
  return (next) => async (call) => {
    const { tool, options } = call;
    const schema = schemaOf(call);
    const args =
      options.applyDefaults === true ? (applyDefaults(schema, call.args) as typeof call.args) : call.args;
    const checked = validatorOf(call).validate(schema, args, call.budget);
    const issues = checked instanceof Promise ? await checked : checked;
    if (issues.length === 0) return next(args === call.args ? call : { ...call, args });
    throw new ToolCallError({
      code: "INVALID_ARGUMENTS",
      server: tool.server,
      tool: tool.sourceName,
      what: `The arguments do not fit the tool's schema: ${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
      next: "Correct them and call again",
      outcome: "unsent",
      issues,
    });
  };
}
