/** Results and progress of calls that Toolport passes on for a client of a gateway. */
import type { Progress } from "../protocol/pending-request.js";
import type { Relay } from "../protocol/relay.js";
import { readCreatedTask } from "../protocol/tasks.js";
import type { CallRelay } from "./tool-call.js";
import { INPUT_META_KEY, type ToolResult } from "./tool-result.js";

/** Records the result for the gateway. A question of the server, or a task, passes through the pipeline like a result. */
export function relayResult(relay: CallRelay, raw: Record<string, unknown>, result: ToolResult): ToolResult {
  relay.raw = raw;
  relay.server = result.server;
  // The mark keeps caches from sharing it.
  const made = isIncomplete(relay)
    ? { ...result, _meta: { ...result._meta, [INPUT_META_KEY]: true } }
    : result;
  relay.result = made;
  return made;
}

/** The server has not answered the call yet: it asks for input, or has begun a task. */
export const isIncomplete = (relay: Relay | undefined): boolean =>
  relay?.raw !== undefined &&
  (relay.isInputRequired === true ||
    (relay.raw["content"] === undefined && readCreatedTask(relay.raw) !== undefined));

/** Drops reports that are smaller than an earlier one of the same call, which a retry or a fallback server may send. */
export function reportRising(
  relay: Relay,
  report: Progress,
  progress: { reported(report: Progress): void },
): void {
  if (relay.progress !== undefined && report.progress < relay.progress) return;
  relay.progress = report.progress;
  progress.reported(report);
}
