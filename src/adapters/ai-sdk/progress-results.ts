/** A call as a stream of preliminary results: one for each progress notification, then the result of the tool. */
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Progress } from "../../protocol/pending-request.js";
import { MAX_WAITING_CALLS } from "../../util/callbacks.js";
import { LinkedQueue } from "../../util/collections.js";
import { onSharedAbort } from "../../util/timers.js";

/** The output of an execution: the result of the tool or, before it, its progress. */
export type AiSdkToolResult<Structured = unknown> = ToolResult<Structured> & {
  /** Only in preliminary results. */
  readonly progress?: Progress;
};

export interface ProgressCall {
  readonly server: string;
  readonly signal: AbortSignal | undefined;
  readonly run: (
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ) => Promise<ToolResult | Suspended>;
}

/** Aborts the call when the consumer stops reading. */
export async function* progressResults({
  server,
  signal,
  run,
}: ProgressCall): AsyncGenerator<AiSdkToolResult | Suspended> {
  const stop = new AbortController();
  const forget = signal === undefined ? () => {} : onSharedAbort(signal, () => stop.abort(signal.reason));
  if (signal?.aborted) stop.abort(signal.reason);
  const news = new LinkedQueue<Progress>();
  let isOver = false;
  let wake = () => {};
  const running = run((progress) => {
    news.push(progress);
    // The latest progress replaces earlier ones: a slow consumer does not see every notification.
    if (news.size > MAX_WAITING_CALLS) news.shift();
    wake();
  }, stop.signal);
  const end = () => {
    isOver = true;
    wake();
  };
  running.then(end, end);
  try {
    while (!isOver) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (news.size > 0 || isOver) resolve();
      });
      for (let next = news.shift(); next !== undefined; next = news.shift()) yield preliminary(next, server);
    }
    yield await running;
  } finally {
    forget();
    if (!isOver) stop.abort();
  }
}

function preliminary(progress: Progress, server: string): AiSdkToolResult {
  const { progress: done, total, message } = progress;
  const text = message ?? (total === undefined ? String(done) : `${done} of ${total}`);
  return {
    text,
    content: [{ type: "text", text }],
    isError: false,
    server,
    attempts: 1,
    durationMs: 0,
    progress,
  };
}
