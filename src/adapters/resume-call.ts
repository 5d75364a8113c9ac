/** Continues one waiting call for an adapter, whose conversation has to go on whatever happens. */
import { ToolportError } from "../errors/toolport-error.js";
import {
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
} from "../execution/suspend/suspension.js";
import type { ToolResult } from "../execution/tool-result.js";
import { resumeTool, type ToolSource } from "./tool-source.js";

/**
 * `next`: the call waits again. `note`: the call is over without a result, and this is what the model reads. `error`: the call still
 * waits with the same token.
 */
export type ResumeOutcome =
  | { readonly result: ToolResult }
  | { readonly next: Suspended }
  | { readonly note: string }
  | { readonly error: unknown };

/** Codes of errors after which the token is gone. */
const OVER = ["SUSPENSION_UNKNOWN", "REFUSED", "PROTOCOL", "INVALID_OUTPUT", "TASK_LOST", "TASK_CANCELLED"];

const GONE =
  "The call no longer waits: it was continued before, so it may have run, or it has expired. Ask the user before you call the tool again.";

/** Never rejects, so that one wrong answer does not cost the results of other calls. */
export async function resumeCall(
  toolport: ToolSource,
  { token, answer, options }: { token: string; answer: ResumeInput | undefined; options: ResumeOptions },
): Promise<ResumeOutcome> {
  try {
    const result = await resumeTool(toolport, token, answer, options);
    return isSuspended(result) ? { next: result } : { result };
  } catch (error) {
    if (!ToolportError.isInstance(error) || !OVER.includes(error.code)) return { error };
    return { note: error.code === "SUSPENSION_UNKNOWN" ? GONE : error.message };
  }
}

/** The options of `resume()` among those of an adapter. */
export const resumeOptions = ({ signal, timeoutMs, onProgress, context }: ResumeOptions): ResumeOptions =>
  Object.fromEntries(
    Object.entries({ signal, timeoutMs, onProgress, context }).filter(([, value]) => value !== undefined),
  );
