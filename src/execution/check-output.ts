/** Checks the structured content of a result against the tool's output schema. */

import { secretsOf } from "../config/known-secrets.js";
import { ToolCallError } from "../errors/toolport-error.js";
import type { OnContradiction } from "./invalid-arguments.js";
import type { ServerStep } from "./tool-call.js";

/**
 * Throws `INVALID_OUTPUT`. A result with `isError` need not match the schema, and a schema that cannot be applied refuses nothing.
 *
 * @param onUnchecked called with a warning if the schema cannot be applied
 */
export const checkOutputStep =
  (onUnchecked: OnContradiction): ServerStep =>
  (next) =>
  async (call) => {
    const { tool, target } = call;
    const { outputSchema } = tool;
    const answer = await next(call);
    const { result, isOpen } = answer;
    if (outputSchema === undefined || result.isError || isOpen) return answer;
    const invalidOutput = (what: string, issues: readonly { path: string; message: string }[]) =>
      // Errors end up in logs, and the result may repeat secrets that were sent to the server.
      secretsOf(target.config).redactError(
        new ToolCallError({
          code: "INVALID_OUTPUT",
          server: tool.server,
          tool: tool.sourceName,
          what,
          next: "The result is in `result`; report this to the author of the server",
          issues,
          result,
        }),
      );
    if (result.structuredContent === undefined)
      throw invalidOutput("The tool declares structured content but sent none", []);
    const issues = await target.validator.validate(outputSchema, result.structuredContent, call.budget);
    if (issues.length === 0) return answer;
    if (issues.every(({ unchecked }) => unchecked)) {
      onUnchecked(
        tool,
        `The output schema of the tool ${JSON.stringify(tool.sourceName)} cannot be applied: ${issues[0]!.path} ${issues[0]!.message}. ` +
          "The result was accepted; report this to the author of the server (SCHEMA_CONTRADICTS)",
      );
      return answer;
    }
    const problems = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw invalidOutput(`The result does not match the tool's output schema: ${problems}`, issues);
  };
