/** One run of a program: connects the executor to the calls of the user's port, ends both within the limits, and lets the console watch. */
import { OrderedCallback, onSharedAbort, SuspensionError, timerMs } from "@toolport/base";
import type { CallToolOptions, Suspended, Toolport } from "@toolport/core";
import type { CodeExecutor, ProgramCall, ProgramEnd } from "./code-executor.js";
import type { CodeCall, CodeErrorCode, CodeLimits, CodeOutcome } from "./code-mode.js";
import { describeFailure, type Failure, realPosition } from "./describe-failure.js";
import type { ProgramApi } from "./program-api.js";
import {
  CALL_LIMIT,
  ProgramCalls,
  type ProgramCallsPlan,
  type SuspendedProgramCall,
} from "./program-calls.js";

/** All limits, with their defaults. */
export type RunLimits = { readonly [Key in keyof CodeLimits]-?: number };

export interface RunPlan extends Pick<ProgramCallsPlan, "keepText"> {
  readonly source: string;
  readonly api: ProgramApi;
  readonly limits: RunLimits;
  readonly executor: CodeExecutor;
  readonly toolport: Pick<Toolport, "callTool">;
  readonly options: Pick<CallToolOptions, "signal" | "onProgress" | "context" | "headers">;
  /** Ends the program when the code mode is closed. */
  readonly closing: AbortSignal;
  /** Makes the calls. One that returns a `Suspended` waits for a person, and the program with it. @default `callTool` of the port */
  readonly call?: ProgramCallsPlan["call"] | undefined;
  /** Continue this program. @default undefined: a new program */
  readonly earlier?: EarlierRun | undefined;
  /** A call was made or has ended, or there is a new line. */
  readonly onChange?: ((report: ProgramReport) => void) | undefined;
}

/** What a program has done until now. Lines are added to `logs` while it runs. */
export interface ProgramReport {
  readonly logs: readonly string[];
  readonly calls: readonly CodeCall[];
}

/** What is known about a program that is continued. */
interface EarlierRun {
  readonly image: Uint8Array;
  readonly pending: readonly Pick<SuspendedProgramCall, "id" | "tool" | "args">[];
  readonly calls: readonly CodeCall[];
  readonly logs: readonly string[];
  readonly cpuMs: number;
  readonly timeMs: number;
}

/** A program that waits for a person. It no longer runs. */
export interface PausedProgram {
  readonly paused: Omit<EarlierRun, "pending"> & {
    /** What the person is asked first. */
    readonly suspended: Suspended;
    readonly pending: readonly PendingCall[];
  };
}

/** A call that the image of a program waits for. */
export interface PendingCall extends Pick<SuspendedProgramCall, "id" | "tool" | "args"> {
  /** Token of the suspended call itself. */
  readonly token: string;
}

type RunEvent =
  | { readonly type: "call"; readonly call: ProgramCall }
  | { readonly type: "log"; readonly line: string }
  | { readonly type: "wait"; readonly pending: readonly number[] }
  | { readonly type: "suspended" }
  | { readonly type: "end"; readonly end: ProgramEnd }
  | { readonly type: "late" }
  | { readonly type: "abort"; readonly reason: unknown };

/** Events in their order. A loop that awaits them stays in the async context of the caller: spans and the storage of the user's callbacks. */
class EventQueue {
  readonly #events: RunEvent[] = [];
  #wake: (() => void) | undefined;

  push(event: RunEvent): void {
    this.#events.push(event);
    this.#wake?.();
  }

  async next(): Promise<RunEvent> {
    if (this.#events.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#events.shift()!;
  }
}

/** Largest image that is saved. A program that holds more data cannot wait. */
const MAX_IMAGE_BYTES = 16 * 1024 * 1024;

export async function runProgram(plan: RunPlan): Promise<CodeOutcome | PausedProgram> {
  const { source, api, limits, executor, toolport, closing, earlier } = plan;
  const { signal, onProgress, context, headers } = plan.options;
  signal?.throwIfAborted();
  const events = new EventQueue();
  const logs: string[] = [...(earlier?.logs ?? [])];
  const report = reporter(onProgress);
  const run = executor.start(
    { source, tools: api.members, limits, image: earlier?.image, usedCpuMs: earlier?.cpuMs },
    {
      onCall: (call) => events.push({ type: "call", call }),
      onLog: (line) => events.push({ type: "log", line }),
      onWait: (pending) => events.push({ type: "wait", pending }),
    },
  );
  if (plan.call !== undefined && run.snapshot === undefined) {
    await run.stop();
    throw notOffered("The executor of this code mode cannot save programs");
  }
  const calls = new ProgramCalls(
    {
      limits,
      options: { context, headers },
      keepText: plan.keepText,
      toolOf: api.toolOf,
      call: plan.call ?? ((name, args, options) => toolport.callTool(name, args, options)),
      answer: (id, answer) => run.answer(id, answer),
      onFinished({ tool, code }) {
        report(code === undefined ? tool : `${tool}: ${code}`);
        changed();
      },
      onSuspended: () => events.push({ type: "suspended" }),
    },
    earlier?.calls,
  );
  for (const { id, tool, args } of earlier?.pending ?? [])
    calls.continue({ id, args, tool: api.toolNamed(tool) });
  void run.ended.then((end) => events.push({ type: "end", end }));
  const startedAt = performance.now();
  const earlierMs = earlier?.timeMs ?? 0;
  const timer = Number.isFinite(limits.timeMs)
    ? setTimeout(() => events.push({ type: "late" }), timerMs(limits.timeMs - earlierMs))
    : undefined;
  /** The calls that the program said last it waits for. */
  let awaited: readonly number[] = [];
  const removers = [signal, closing].flatMap((each) =>
    each ? [onSharedAbort(each, () => events.push({ type: "abort", reason: each.reason }))] : [],
  );
  try {
    for (;;) {
      const event = await events.next();
      switch (event.type) {
        case "call":
          calls.start(event.call);
          changed();
          break;
        case "log":
          logs.push(event.line);
          report(event.line);
          changed();
          break;
        case "wait":
          awaited = event.pending;
          if (calls.areSuspended(awaited)) return await pause();
          break;
        case "suspended":
          // The answer to another call may be on its way to the program: then a new `wait` follows.
          if (calls.areSuspended(awaited)) return await pause();
          break;
        case "late":
          await run.stop();
          return fail(
            { code: "TIME_LIMIT", name: "Error", message: `The program took more than ${limits.timeMs} ms` },
            { cpuMs: (await run.ended).cpuMs },
          );
        case "abort":
          await run.stop();
          throw event.reason;
        case "end":
          return finish(event.end);
      }
    }
  } finally {
    clearTimeout(timer);
    for (const remove of removers) remove();
    calls.cancel(new DOMException("The program that made this call has ended.", "AbortError"));
    void run.stop();
  }

  function changed(): void {
    plan.onChange?.({ logs, calls: calls.records });
  }

  async function pause(): Promise<CodeOutcome | PausedProgram> {
    // Executors that have no `snapshot` never get calls that may wait.
    const { image, cpuMs } = await run.snapshot!();
    if (image.length > MAX_IMAGE_BYTES) {
      const message = `The program cannot wait for a person: its data takes ${image.length} bytes, compressed, of at most ${MAX_IMAGE_BYTES}`;
      return fail({ code: "MEMORY_LIMIT", name: "Error", message }, { cpuMs });
    }
    const [first] = calls.suspended;
    const pending = calls.suspended.map(({ suspended, ...call }) => ({ ...call, token: suspended.token }));
    const timeMs = earlierMs + performance.now() - startedAt;
    return {
      paused: { image, cpuMs, timeMs, logs, calls: calls.records, pending, suspended: first!.suspended },
    };
  }

  function finish(end: ProgramEnd): CodeOutcome {
    if ("value" in end) {
      const value: unknown = end.value === undefined ? undefined : JSON.parse(end.value);
      return { value, ...reportOf(end.cpuMs) };
    }
    const { code, thrownCode } = end.error;
    // Only `stop()` ends a program this way, and the loop above has left before.
    const reason: CodeErrorCode =
      code === "STOPPED" ? "CRASHED" : thrownCode === CALL_LIMIT ? CALL_LIMIT : code;
    return fail({ ...end.error, code: reason }, { cpuMs: end.cpuMs, toolCode: thrownCode });
  }

  function fail(
    failure: Failure,
    { cpuMs = 0, toolCode }: { cpuMs?: number; toolCode?: string | undefined } = {},
  ) {
    const { code } = failure;
    const { line, column } = realPosition(failure, source);
    const rest = reportOf(cpuMs);
    const message = describeFailure(
      { ...failure, line, column },
      { source, members: api.members, calls: rest.calls },
    );
    return { error: { code, message, toolCode, line, column }, ...rest };
  }

  /** Calls that were not awaited are named: the program may have meant to wait for them. */
  function reportOf(cpuMs: number) {
    const { unfinished } = calls;
    if (unfinished.length > 0) {
      const what = unfinished.length === 1 ? "1 call was" : `${unfinished.length} calls were`;
      logs.push(`[${what} not finished and cancelled: ${[...new Set(unfinished)].join(", ")}]`);
    }
    return { logs, calls: calls.records, cpuMs };
  }
}

export const notOffered = (what: string): SuspensionError =>
  new SuspensionError({
    code: "NOT_OFFERED",
    what,
    next: "Run the program without suspend",
    outcome: "unsent",
  });

/** Numbers the reports, because progress must grow. */
function reporter(onProgress: CallToolOptions["onProgress"]): (message: string) => void {
  if (onProgress === undefined) return () => {};
  // An error of the user's callback must not end the program.
  const callback = new OrderedCallback(onProgress, { report: () => {} });
  let progress = 0;
  return (message) => callback.call({ progress: ++progress, message });
}

/** What happens to a program: it made or ended a call or wrote a line, it has ended, or it was cancelled. */
export type ProgramNews =
  | { readonly report: ProgramReport }
  | { readonly outcome: CodeOutcome | PausedProgram }
  | { readonly error: unknown };

/** Must not throw. */
type ProgramWatcher = (news: ProgramNews) => void;

export interface StartedProgram {
  readonly source: string;
  /** `context` of `execute()`. */
  readonly context: unknown;
}

type OnStart = (program: StartedProgram) => ProgramWatcher;

// A registered symbol, because CommonJS bundles contain several copies of this module.
const KEY = Symbol.for("toolport.programs");
type Watched = { readonly [KEY]?: Set<OnStart> };

/** Calls `onStart` with every program that a code mode runs on this port. Returns a function that stops it. */
export function watchPrograms(toolport: object, onStart: OnStart): () => void {
  if ((toolport as Watched)[KEY] === undefined) Object.defineProperty(toolport, KEY, { value: new Set() });
  const all = (toolport as Watched)[KEY]!;
  all.add(onStart);
  return () => void all.delete(onStart);
}

/** Undefined if no one watches. */
export function announceProgram(toolport: object, program: StartedProgram): ProgramWatcher | undefined {
  const all = (toolport as Watched)[KEY];
  if (all === undefined || all.size === 0) return undefined;
  const watchers = [...all].map((onStart) => onStart(program));
  return (news) => {
    for (const watcher of watchers) watcher(news);
  };
}
