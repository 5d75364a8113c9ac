/** A structured answer must be what the tool promised. */

import { ToolCallError } from "../errors/tool-call-error.js";
import type { JsonSchema } from "../model/listed-tool.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import { isTaskReceipt } from "./tasks/task-record.js";
import type { CallHandler, CallInterceptor, ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

/**
 * Checks `structuredContent` against `outputSchema`. A tool that reports failure promises nothing.
 *
 * @param redact takes out of the error what the server was entrusted with: an answer in an error ends in logs
 */
export function checkOutputStep(
  validatorOf: (call: ToolCall) => SchemaValidator,
  redact: (server: string, error: ToolCallError) => ToolCallError,
): CallInterceptor {
  return (next) => (call) => {
    const { outputSchema } = call.tool;
    return outputSchema === undefined ? next(call) : check(call, outputSchema, next);
  };

  async function check(call: ToolCall, outputSchema: JsonSchema, next: CallHandler): Promise<ToolResult> {
    const result = await next(call);
    const { tool } = call;
    if (result.isError || isTaskReceipt(call, result)) return result;
    const refuse = (what: string, issues: readonly { path: string; message: string }[]): never => {
      const error = new ToolCallError({
        code: "INVALID_OUTPUT",
        server: tool.server,
        tool: tool.sourceName,
        what,
        next: "The answer is in `result`; report this to the maker of the server",
        issues,
        result,
      });
      throw redact(tool.server, error);
    };
    if (result.structuredContent === undefined) {
      return refuse("The tool promises structured content and sent none", []);
    }
    const checked = validatorOf(call).validate(outputSchema, result.structuredContent, call.budget);
    const issues = checked instanceof Promise ? await checked : checked;
    if (issues.length === 0) return result;
    const problems = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
    return refuse(`The answer does not fit the tool's output schema: ${problems}`, issues);
  }
}
