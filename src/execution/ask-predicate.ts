/** Calls a predicate of the user for a failed call. */
import type { FailurePredicate } from "../config/server-entry.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { ToolCall } from "./tool-call.js";

/** Undefined if the predicate does not decide, or throws; errors are reported. */
export function askPredicate(
  predicate: FailurePredicate,
  { error, call, report }: { error: ToolportError; call: ToolCall; report: (error: unknown) => void },
): boolean | undefined {
  const { tool, args, attempts, options } = call;
  try {
    const verdict: unknown = predicate(error, {
      server: { name: tool.server },
      tool: { name: tool.name, sourceName: tool.sourceName },
      args,
      attempts: attempts.length,
      context: options.context,
    });
    // A promise is truthy, so an asynchronous predicate would accept everything.
    if (verdict instanceof Promise) verdict.catch(report);
    return typeof verdict === "boolean" ? verdict : undefined;
  } catch (thrown) {
    report(thrown);
    return undefined;
  }
}
