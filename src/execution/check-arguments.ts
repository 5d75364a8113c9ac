/** Arguments are checked against the tool's own schema before anything is sent. */
import type { JsonSchema } from "../config/listed-tool.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { applyDefaults } from "../schema/apply-defaults.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import type { ValidationIssue } from "../schema/validation-issue.js";
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
  /** The call to go on with, or a promise of it where the check takes longer. */
  function check(call: ToolCall): ToolCall | Promise<ToolCall> {
    const schema = schemaOf(call);
    const args =
      call.options.applyDefaults === true
        ? (applyDefaults(schema, call.args) as typeof call.args)
        : call.args;
    const checked = validatorOf(call).validate(schema, args, call.budget);
    return checked instanceof Promise
      ? checked.then((issues) => proceed(call, args, issues))
      : proceed(call, args, checked);
  }

  return (next) => (call) => {
    try {
      const checked = check(call);
      return checked instanceof Promise ? checked.then(next) : next(checked);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

function proceed(call: ToolCall, args: ToolCall["args"], issues: readonly ValidationIssue[]): ToolCall {
  if (issues.length > 0) throw unfit(call, issues);
  return args === call.args ? call : { ...call, args };
}

function unfit({ tool }: ToolCall, issues: readonly ValidationIssue[]): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server: tool.server,
    tool: tool.sourceName,
    what: `The arguments do not fit the tool's schema: ${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
    next: "Correct them and call again",
    outcome: "unsent",
    issues,
  });
}
