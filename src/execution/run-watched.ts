/** Runs a call whose progress has listeners, such as the console. Loaded with the first one. */
import { ToolCallError } from "../errors/toolport-error.js";
import type { Progress } from "../protocol/pending-request.js";
import { onSharedAbort } from "../util/timers.js";
import type { CallAnswer, ToolCall } from "./tool-call.js";

/** A call whose progress has listeners. */
export interface WatchedCall {
  /** Aborts with the reason as a text when a listener cancels the call. */
  readonly signal: AbortSignal;
  progressed(progress: Progress): void;
}

/** Passes progress on to the listeners, and ends the call when one of them cancels it. */
export async function runWatched(
  next: (call: ToolCall) => Promise<CallAnswer>,
  call: ToolCall,
  watched: WatchedCall,
): Promise<CallAnswer> {
  const { signal, onProgress } = call.options;
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  const cancel = () => controller.abort(cancelled(call, String(watched.signal.reason)));
  const stop = signal && onSharedAbort(signal, abort);
  if (signal?.aborted) abort();
  if (watched.signal.aborted) cancel();
  watched.signal.addEventListener("abort", cancel, { once: true });
  const options = {
    ...call.options,
    signal: controller.signal,
    onProgress(progress: Progress) {
      watched.progressed(progress);
      return onProgress?.(progress);
    },
  };
  try {
    return await next({ ...call, options });
  } finally {
    stop?.();
  }
}

const cancelled = ({ tool: { server, sourceName } }: ToolCall, why: string): ToolCallError =>
  new ToolCallError({ code: "REFUSED", server, tool: sourceName, what: why, outcome: "unknown" });
