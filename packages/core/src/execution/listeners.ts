/** Notifies listeners before and after every tool call, prompt, resource access and completion. Listeners cannot change a call. */

import { type DropObserver, OrderedCallback, onSharedAbort, ToolCallError } from "@toolport/base";
import type { ArgumentRepair } from "@toolport/schemas";
import type { Progress } from "../protocol/pending-request.js";
import type { CallAnswer, CallAttempt, CallStep, ToolCall } from "./tool-call.js";

/** A call that starts. The object is frozen. */
export interface CallEvent {
  readonly kind: "tool" | "prompt" | "resource" | "subscription" | "completion";
  /** The server that is asked; after a fallback, the server that answered or failed last. */
  readonly server: string;
  /** Public name of the tool, or name of the prompt that is rendered or completed. */
  readonly name?: string | undefined;
  /** URI of the resource that is read or subscribed to, or URI template that is completed. */
  readonly uri?: string | undefined;
  /**
   * Parameters of the request as sent: the arguments are checked and repaired, and include the values of interceptors. If
   * nothing is sent (the call is rejected, or an interceptor answers it), the parameters as the caller gave them.
   */
  readonly message: Readonly<Record<string, unknown>>;
  /** Arguments of the tool as the caller gave them, if different ones are sent. */
  readonly given?: Readonly<Record<string, unknown>> | undefined;
  /** `context` of the call's options. */
  readonly context?: unknown;
  /** The principal that makes the call; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
  /** Who answered the question or approved the call; `answeredBy` of `resume()`. */
  readonly answeredBy?: string | undefined;
}

/** A call that ended. */
export interface CallEndEvent extends CallEvent {
  readonly durationMs: number;
  /** Number of requests that were sent for the call. */
  readonly attempts: number;
  /** `tool_error`: the result has `isError`. `suspended`: the call waits for a person, and there is no result yet. */
  readonly outcome: "ok" | "error" | "tool_error" | "suspended";
  /** What was thrown: a `ToolportError`, or the reason of the caller's signal. */
  readonly error?: unknown;
  readonly result?: unknown;
  /** How the arguments were repaired before they were sent; undefined if they were not. */
  readonly repaired?: readonly ArgumentRepair[] | undefined;
}

/**
 * Called before and after every call. `before` is called when the request is known: after the interceptors and the check of
 * the arguments, and before `approve`. If nothing is sent, it is called directly before `after`. Errors of a listener are
 * reported as warnings. Calls never wait for a listener. If it returns promises, up to 100 of them run at the same time and
 * 1,000 more wait; beyond that the oldest are dropped, with a warning.
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

/** The event `call` of `toolport.on("call", …)`. */
export type CallNews =
  | ({ readonly phase: "start"; readonly id: number } & CallEvent)
  | ({
      readonly phase: "end";
      /** The same as at the start. */
      readonly id: number;
      /** Every attempt in order, with its error; for tool calls only. */
      readonly tries: readonly CallAttempt[];
    } & CallEndEvent);

/** The event `progress` of `toolport.on("progress", …)`. */
export interface CallProgressNews extends Progress {
  /** That of the event `call`. */
  readonly id: number;
  /** The server that was asked first. */
  readonly server: string;
  /** Public name of the tool. */
  readonly name: string;
  /** The principal that makes the call; undefined outside `as(principal)`. */
  readonly principal?: string | undefined;
}

const CANCEL = Symbol("cancel");

/**
 * Cancels a running tool call by the event of its start, for the console. Its caller gets a `ToolCallError` with the code `REFUSED`.
 * Returns false for calls that started while there was no listener for `progress`: signals cost time.
 */
export function cancelCall(start: CallNews, why: string): boolean {
  const cancel = (start as { [CANCEL]?: (why: string) => void })[CANCEL];
  cancel?.(why);
  return cancel !== undefined;
}

interface CallObserverParts {
  listeners: readonly CallListener[];
  /** Emits `call` and `progress`, for listeners that were added with `toolport.on`. */
  emitter?: {
    has(event: "call" | "progress"): boolean;
    emit(event: "call", news: CallNews): void;
    emit(event: "progress", news: CallProgressNews): void;
  };
  /** Receives errors of listeners. */
  report: (error: unknown) => void;
  /** Counts the events that a slow listener misses. */
  drops?: DropObserver;
  /** @default performance.now */
  now?: () => number;
}

/** A tool call while it runs. It reports progress and can be cancelled. */
interface RunningCall {
  /** All attempts so far. */
  readonly attempts: readonly CallAttempt[];
  /** The event as it is known so far. */
  event(): CallEvent;
  /** Registers the function to call once the event is complete. */
  onReady(announce: () => void): void;
  /** What is known at the end. */
  end(): Pick<CallEndEvent, "server" | "repaired">;
  /** The call waits for a person. */
  isSuspended(): boolean;
}

/** Runs a function and notifies the listeners before and after it. */
export interface ObserveCall {
  <Result>(
    event: CallEvent,
    /** Gets a {@link WatchedCall} if it is a tool call and `progress` has listeners. */
    run: (watched?: WatchedCall) => Promise<Result>,
    running?: RunningCall,
  ): Promise<Result>;
  /** False while there is no listener: then the event need not be created. */
  isObserved(): boolean;
}

type CallMoment = { readonly before: CallEvent } | { readonly after: CallEndEvent };

/**
 * How many calls of one listener may run at the same time. Calls come from the program itself, unlike other events, and a
 * listener that writes to a database should keep up with many of them.
 */
export const CALL_LISTENERS_AT_ONCE = 100;

/** Creates the function that notifies listeners. Tool calls use it through {@link listenerStep}. */
export function createCallObserver({
  listeners,
  emitter,
  report,
  drops,
  now = () => performance.now(),
}: CallObserverParts): ObserveCall {
  const ordered = listeners.map(
    (listener) =>
      new OrderedCallback<CallMoment>(
        (moment) => ("before" in moment ? listener.before?.(moment.before) : listener.after?.(moment.after)),
        { report, ...drops, concurrency: CALL_LISTENERS_AT_ONCE },
      ),
  );
  const notify = (moment: CallMoment): void => {
    for (const listener of ordered) listener.call(moment);
  };

  let calls = 0;
  const isObserved = () =>
    listeners.length > 0 || emitter?.has("call") === true || emitter?.has("progress") === true;
  const observe = async <Result>(
    event: CallEvent,
    run: (watched?: WatchedCall) => Promise<Result>,
    running?: RunningCall,
  ): Promise<Result> => {
    // A listener that is added during a call does not get the end of that call.
    const watcher = emitter?.has("call") ? emitter : undefined;
    const isWatched = running !== undefined && emitter?.has("progress") === true;
    if (listeners.length === 0 && watcher === undefined && !isWatched) return run();
    const startedAt = now();
    const id = watcher === undefined && !isWatched ? 0 : ++calls;
    const controller = isWatched ? new AbortController() : undefined;
    const { server, name = "", principal } = event;
    const watched = controller && {
      signal: controller.signal,
      progressed: (progress: Progress) =>
        emitter?.emit("progress", Object.freeze({ ...progress, id, server, name, principal })),
    };
    const current = () => running?.event() ?? event;
    let isAnnounced = false;
    const announce = (): void => {
      if (isAnnounced) return;
      isAnnounced = true;
      notify({ before: Object.freeze({ ...current() }) });
      const start = { phase: "start" as const, id, ...current() };
      // Not enumerable: copies of the event, such as those for another thread, go without it.
      if (controller !== undefined)
        Object.defineProperty(start, CANCEL, { value: (why: string) => controller.abort(why) });
      watcher?.emit("call", Object.freeze(start));
    };
    if (running === undefined) announce();
    else running.onReady(announce);
    const finish = (end: Pick<CallEndEvent, "outcome" | "error" | "result">): void => {
      announce();
      const ended = Object.freeze({
        ...current(),
        attempts: running?.attempts.length ?? 1,
        durationMs: now() - startedAt,
        ...running?.end(),
        ...end,
      });
      notify({ after: ended });
      const tries = [...(running?.attempts ?? [])];
      watcher?.emit("call", Object.freeze({ phase: "end", id, tries, ...ended }));
    };
    try {
      const result = await run(watched);
      const outcome = isToolError(result) ? "tool_error" : "ok";
      finish({ outcome: running?.isSuspended() === true ? "suspended" : outcome, result });
      return result;
    } catch (error) {
      finish({ outcome: "error", error });
      throw error;
    }
  };
  return Object.assign(observe, { isObserved });
}

const isToolError = (result: unknown): boolean =>
  (result as { isError?: unknown } | null | undefined)?.isError === true;

/** Notifies the listeners of tool calls. */
export function listenerStep(observe: ObserveCall): CallStep {
  return (next) => async (call) => {
    const { attempts } = call;
    let sent = call;
    let repaired: readonly ArgumentRepair[] | undefined;
    let announce = () => {};
    let answer: CallAnswer | undefined;
    const onSent: ToolCall["onSent"] = (...given) => {
      [sent, repaired] = given;
      call.onSent?.(...given);
      announce();
    };
    await observe(
      eventOf(call, call),
      async (watched) => {
        const observed = { ...call, onSent };
        answer = await (watched === undefined ? next(observed) : runWatched(next, observed, watched));
        return answer.result;
      },
      {
        attempts,
        event: () => eventOf(call, sent),
        end: () => ({
          server: answer?.result.server ?? attempts.at(-1)?.server ?? call.tool.server,
          ...(repaired !== undefined && { repaired }),
        }),
        isSuspended: () => answer?.pause !== undefined,
        onReady: (ready) => {
          announce = ready;
        },
      },
    );
    return answer!;
  };
}

/** The event of a call. `sent` is the call as it is sent. */
function eventOf(call: ToolCall, sent: ToolCall): CallEvent {
  const { tool, args, options, principal, suspension } = call;
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
    ...(suspension?.answeredBy !== undefined && { answeredBy: suspension.answeredBy }),
  };
}

/** A call whose progress has listeners. */
interface WatchedCall {
  /** Aborts with the reason as a text when a listener cancels the call. */
  readonly signal: AbortSignal;
  progressed(progress: Progress): void;
}

/** Passes progress on to the listeners, and ends the call when one of them cancels it. */
async function runWatched(
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
