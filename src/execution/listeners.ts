/** Tells listeners about every tool call, prompt, resource access and completion, before and after; they cannot harm it. */
import type { ArgumentRepair } from "../schema/argument-repair.js";
import { type DropObserver, OrderedCallback } from "../util/ordered-callback.js";
import type { CallAttempt, CallInterceptor, CallTrail, ToolCall } from "./tool-call.js";

/** What is about to happen. Read it; do not change it. */
export interface CallEvent {
  readonly kind: "tool" | "prompt" | "resource" | "subscription" | "completion";
  /** The server asked; after a fallback, the one that answered or failed last. */
  readonly server: string;
  /** Public name of the tool, or name of the prompt that is got or completed. */
  readonly name?: string | undefined;
  /** Address of the resource that is read or subscribed to; the template that is completed. */
  readonly uri?: string | undefined;
  /**
   * Parameters of the request, as sent: arguments are checked, repaired, and hold what interceptors added. Where nothing is
   * sent (refused, answered by an interceptor), as the caller gave them.
   */
  readonly message: Readonly<Record<string, unknown>>;
  /** Arguments of a tool as the caller gave them, if others are sent. */
  readonly given?: Readonly<Record<string, unknown>> | undefined;
  /** `context` of the call's options. */
  readonly context?: unknown;
  /** Whose call it is; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
}

/** What has happened. */
export interface CallEndEvent extends CallEvent {
  readonly durationMs: number;
  /** How many times a server was asked. */
  readonly attempts: number;
  /** `tool_error`: the tool answered that it failed. */
  readonly outcome: "ok" | "error" | "tool_error";
  /** What was thrown: a `ToolportError`, or the reason of the caller's abort. */
  readonly error?: unknown;
  /** What was answered. */
  readonly result?: unknown;
  /** What was changed about the arguments before they were sent; undefined: nothing. */
  readonly repaired?: readonly ArgumentRepair[] | undefined;
}

/**
 * Called before and after every call. `before` comes when it is known what will be sent: after interceptors and the check of
 * arguments, before `approve`. If nothing is sent, it comes directly before `after`. What it throws or rejects with is reported as a warning and changes nothing, and no
 * call waits for it. If it returns promises, up to 100 of them run at once and 1,000 more wait; then the oldest are dropped,
 * with a warning.
 *
 * @example
 * ```ts
 * const audit: CallListener = {
 *   after: ({ name, server, outcome, durationMs }) => console.error(server, name, outcome, durationMs),
 * };
 * ```
 */
export interface CallListener {
  before?(event: CallEvent): unknown;
  after?(event: CallEndEvent): unknown;
}

/** A call as those see it who came later than the options, by `toolport.on("call", …)`. */
export type CallNews =
  | ({ readonly phase: "start"; readonly id: number } & CallEvent)
  | ({
      readonly phase: "end";
      /** The same as at the start. */
      readonly id: number;
      /** Every server that was asked, in order, and why it did not answer; of tool calls only. */
      readonly tries: readonly CallAttempt[];
    } & CallEndEvent);

/** Watchers who come and go. */
export interface CallWatch {
  /** Somebody watches at this moment. */
  isWatched: () => boolean;
  tell: (news: CallNews) => void;
}

export interface CallListening {
  listeners: readonly CallListener[];
  watch?: CallWatch;
  /** Gets what a listener threw. */
  report: (error: unknown) => void;
  /** Is notified of events that a slow listener misses. */
  drops?: DropObserver;
  /** @default performance.now */
  now?: () => number;
}

/** How a call ended, as far as the result alone does not say it. */
export interface CallProgress {
  /** How many times a server was asked so far. */
  attempts: () => number;
  /** The server asked last. */
  server?: () => string | undefined;
  /** What was tried so far. */
  tries?: () => readonly CallAttempt[];
  /** The event as it is known by now, if it is not known from the start. */
  event?: () => CallEvent;
  /** Sets what is called when it is known; without it `before` is called at once. */
  onReady?: (tell: () => void) => void;
  repaired?: () => readonly ArgumentRepair[] | undefined;
}

/** Runs something and tells the listeners before and after. */
export interface AroundCall {
  <Result>(event: CallEvent, run: () => Promise<Result>, progress?: CallProgress): Promise<Result>;
  /** Nobody listens at this moment: what there is to tell need not even be put together. */
  isUnheard(): boolean;
}

type CallMoment = { readonly before: CallEvent } | { readonly after: CallEndEvent };

/**
 * Calls of one listener that may be under way. Unlike events of servers, calls are the program's own: an audit that writes
 * to a database should keep up with many of them.
 */
export const CALL_LISTENERS_AT_ONCE = 100;

/** Makes the function that tells listeners: for prompts and resources as it is, for tools in {@link listenerStep}. */
export function createAroundCall({
  listeners,
  watch,
  report,
  drops,
  now = () => performance.now(),
}: CallListening): AroundCall {
  const ordered = listeners.map(
    (listener) =>
      new OrderedCallback<CallMoment>(
        (moment) => ("before" in moment ? listener.before?.(moment.before) : listener.after?.(moment.after)),
        { report, ...drops, concurrency: CALL_LISTENERS_AT_ONCE },
      ),
  );
  const tell = (moment: CallMoment): void => {
    for (const listener of ordered) listener.call(moment);
  };

  let calls = 0;
  const isUnheard = () => listeners.length === 0 && watch?.isWatched() !== true;
  const around = async <Result>(
    event: CallEvent,
    run: () => Promise<Result>,
    progress?: CallProgress,
  ): Promise<Result> => {
    // Whoever begins to watch while a call is under way does not hear of its end.
    const watcher = watch?.isWatched() ? watch : undefined;
    if (listeners.length === 0 && watcher === undefined) return run();
    const startedAt = now();
    const id = watcher === undefined ? 0 : ++calls;
    const current = () => progress?.event?.() ?? event;
    let isTold = false;
    const begin = (): void => {
      if (isTold) return;
      isTold = true;
      tell({ before: Object.freeze({ ...current() }) });
      watcher?.tell(Object.freeze({ phase: "start", id, ...current() }));
    };
    if (progress?.onReady === undefined) begin();
    else progress.onReady(begin);
    const finish = (end: Pick<CallEndEvent, "outcome" | "error" | "result">): void => {
      begin();
      const repaired = progress?.repaired?.();
      const ended = Object.freeze({
        ...current(),
        server: progress?.server?.() ?? event.server,
        attempts: progress?.attempts() ?? 1,
        durationMs: now() - startedAt,
        ...(repaired !== undefined && { repaired }),
        ...end,
      });
      tell({ after: ended });
      watcher?.tell(Object.freeze({ phase: "end", id, tries: [...(progress?.tries?.() ?? [])], ...ended }));
    };
    try {
      const result = await run();
      finish({ outcome: isToolError(result) ? "tool_error" : "ok", result });
      return result;
    } catch (error) {
      finish({ outcome: "error", error });
      throw error;
    }
  };
  return Object.assign(around, { isUnheard });
}

const isToolError = (result: unknown): boolean =>
  (result as { isError?: unknown } | null | undefined)?.isError === true;

/** Tells the listeners about tool calls. */
export function listenerStep(around: AroundCall): CallInterceptor {
  return (next) => (call) => {
    if (around.isUnheard()) return next(call);
    const { attempts } = call;
    const trail: CallTrail = call.trail ?? {};
    let answeredBy: string | undefined;
    return around(
      eventOf(call, call),
      async () => {
        const result = await next(call.trail === undefined ? { ...call, trail } : call);
        answeredBy = result.server;
        return result;
      },
      {
        attempts: () => attempts.length,
        server: () => answeredBy ?? attempts.at(-1)?.server,
        tries: () => attempts,
        event: () => eventOf(call, trail.sent ?? call),
        repaired: () => trail.repaired,
        onReady: (tell) => {
          trail.onReady = tell;
        },
      },
    );
  };
}

/** A call as listeners see it: who called what, and what is sent for it. */
function eventOf(call: ToolCall, sent: ToolCall): CallEvent {
  const { tool, args, options, principal } = call;
  return {
    kind: "tool",
    server: tool.server,
    name: tool.name,
    message: {
      name: sent.tool.sourceName,
      arguments: sent.args,
      ...(sent.options.meta !== undefined && { _meta: sent.options.meta }),
    },
    ...(sent.args !== args && { given: args }),
    context: options.context,
    principal,
  };
}
