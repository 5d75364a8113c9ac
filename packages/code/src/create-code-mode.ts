/** Creates a code mode: programs of a model that call the tools of one user's port. */
import {
  ConfigError,
  type ConfigIssue,
  ConnectionError,
  createTelemetry,
  isForModel,
  loadOnce,
  suggest,
  type ToolSpanFacts,
  VERSION,
} from "@toolport/base";
import type { ResumeInput, ResumeOptions, ToolsOptions } from "@toolport/core";
import { givePort, portOf } from "@toolport/core/internal";
import type { CodeExecutor } from "./code-executor.js";
import type {
  CodeLimits,
  CodeMode,
  CodeModeOptions,
  CodeOutcome,
  CodeTools,
  ExecuteOptions,
} from "./code-mode.js";
import { createToolSource, EXECUTE_NAME } from "./model-tools.js";
import { createProgramApi, type ProgramApi } from "./program-api.js";
import {
  announceProgram,
  type PausedProgram,
  type RunLimits,
  type RunPlan,
  runProgram,
} from "./run-program.js";

/** What differs between the runs of one code mode. */
type ProgramPlan = Omit<RunPlan, "toolport" | "keepText" | "closing">;

const DEFAULT_LIMITS: RunLimits = {
  cpuMs: 2_000,
  timeMs: 60_000,
  memoryBytes: 64 * 1024 * 1024,
  calls: 100,
  parallel: 16,
  outputBytes: 64_000,
  resultBytes: 256_000,
};
const IDLE_TIMEOUT_MS = 30_000;
const DECLARE_TOKENS = 4_000;
/** The engine has addresses of 32 bits. */
const MAX_MEMORY_BYTES = 1024 * 1024 * 1024;

/**
 * Lets a model write programs that call the tools of a port. Every call of a program is an ordinary `callTool` of that port, with its
 * approval, limits and telemetry; use `toolport.as(user)` for one user.
 *
 * @example
 * ```ts
 * await using code = createCodeMode(toolport);
 * const out = await code.execute(`
 *   const issues = await tools.github.listIssues({ repo: "toolport" });
 *   return issues.filter((issue) => issue.labels.includes("bug")).length;
 * `);
 * console.log(out.value ?? out.error?.message);
 * ```
 */
export function createCodeMode(toolport: CodeTools, options: CodeModeOptions = {}): CodeMode {
  const { only, except, filter, idleTimeoutMs = IDLE_TIMEOUT_MS } = options;
  const { discovery = "search", declareTokens = DECLARE_TOKENS } = options;
  const limits = readLimits(options.limits, DEFAULT_LIMITS);
  checkNumbers("capacity", options.capacity, ["threads", "memoryBytes", "waiting"]);
  for (const [path, value] of Object.entries({ idleTimeoutMs, declareTokens }))
    if (!(value >= 0)) throw invalid([{ path, message: "must be a number from 0 on" }]);
  if (discovery !== "search" && discovery !== "declare")
    throw invalid([{ path: "discovery", message: 'must be "search" or "declare"' }]);
  const telemetry = createTelemetry({ version: VERSION });
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  /** The worker threads are loaded with the first program. An installation that was mended is noticed by the next one. */
  const ownExecutor = loadOnce(() => loadExecutor(options));

  /** What a model may call: deferred tools too, but not those for user interfaces. */
  async function openApi(wait: Pick<ToolsOptions, "signal" | "timeoutMs">): Promise<ProgramApi> {
    const tools = await toolport.tools({ only, except, filter, all: true, ...wait });
    return createProgramApi(tools.filter(isForModel));
  }

  /** Runs a program, or continues one, and lets the console watch it. */
  async function runWatched(plan: ProgramPlan): Promise<CodeOutcome | PausedProgram> {
    const { source, options: callOptions } = plan;
    const watcher = announceProgram(toolport, { source, context: callOptions.context });
    const keepText: RunPlan["keepText"] = (...given) => portOf(toolport)?.artifacts?.keep(...given);
    const onChange: RunPlan["onChange"] = watcher && ((report) => watcher({ report }));
    const parts = { toolport, keepText, closing: closing.signal, onChange };
    const result = await runProgram({ ...plan, ...parts }).catch((error: unknown) => {
      watcher?.({ error });
      throw error;
    });
    watcher?.({ outcome: result });
    return result;
  }

  /** Everything that a program does until it ends or waits is in one span. */
  async function inSpan(
    action: () => Promise<CodeOutcome | PausedProgram>,
  ): Promise<CodeOutcome | PausedProgram> {
    let facts: ReturnType<ToolSpanFacts["end"]> = { server: "toolport", attempts: 0 };
    const { outcome } = await telemetry.toolCall({ tool: EXECUTE_NAME, end: () => facts }, async () => {
      const result = await action();
      const { calls, suspended } = "paused" in result ? result.paused : { ...result, suspended: undefined };
      facts = { ...facts, attempts: calls.length, suspended: suspended?.reason };
      // The span looks at `isError`.
      return { outcome: result, isError: !("paused" in result) && result.error !== undefined };
    });
    return outcome;
  }

  /** What a run needs: the engine, and the tools as they are now. */
  async function open(signal: AbortSignal | undefined): Promise<{ executor: CodeExecutor; api: ProgramApi }> {
    signal?.throwIfAborted();
    closing.signal.throwIfAborted();
    const [executor, api] = await Promise.all([options.executor ?? ownExecutor(), openApi({ signal })]);
    closing.signal.throwIfAborted();
    return { executor, api };
  }

  async function execute(source: string, given: ExecuteOptions = {}): Promise<CodeOutcome> {
    if (typeof source !== "string")
      throw invalid([{ path: "source", message: "must be the text of a program" }]);
    const plan = { source, limits: readLimits(given.limits, limits), options: given };
    const opened = await open(given.signal);
    if (given.suspend) return (await suspendedPrograms(opened)).execute(source, plan);
    // Without calls that may wait, no program pauses.
    return (await inSpan(() => runWatched({ ...plan, ...opened }))) as CodeOutcome;
  }

  async function resume(
    token: string,
    answer: ResumeInput = {},
    given: ResumeOptions = {},
  ): Promise<CodeOutcome> {
    return (await suspendedPrograms(await open(given.signal))).resume(token, answer, given);
  }

  /** Loaded with the first program that may wait for a person. */
  async function suspendedPrograms(opened: { executor: CodeExecutor; api: ProgramApi }) {
    const { SuspendedPrograms } = await import("./suspend/suspended-programs.js");
    return new SuspendedPrograms({
      ...opened,
      toolport,
      inSpan,
      run: (plan) => runWatched({ ...opened, ...plan }),
    });
  }

  /** `close()` waits for it. */
  function track<Result>(run: Promise<Result>): Promise<Result> {
    const ended: Promise<unknown> = run.then(
      () => running.delete(ended),
      () => running.delete(ended),
    );
    running.add(ended);
    return run;
  }

  async function close(): Promise<void> {
    closing.abort(
      new ConnectionError({ code: "CLOSED", what: "The code mode is closed", outcome: "unsent" }),
    );
    await Promise.all(running);
    await (await ownExecutor.current?.catch(() => undefined))?.close?.();
  }

  const programs = {
    execute: <Value>(source: string, given?: ExecuteOptions) =>
      track(execute(source, given)) as Promise<CodeOutcome<Value>>,
    resume: <Value>(token: string, answer?: ResumeInput, given?: ResumeOptions) =>
      track(resume(token, answer, given)) as Promise<CodeOutcome<Value>>,
    suspended: () =>
      track(
        open(undefined)
          .then(suspendedPrograms)
          .then((programs) => programs.list()),
      ),
    close,
    [Symbol.asyncDispose]: close,
  };
  const source = createToolSource({ ...programs, toolport, discovery, declareTokens, limits, openApi });
  const mode: CodeMode = { ...programs, ...source };
  // Adapters keep values that are too large for the model where `read_artifact` of the port finds them.
  return givePort(mode, {
    get artifacts() {
      return portOf(toolport)?.artifacts;
    },
    ownTools: [],
  });
}

/** Loads the executor of this runtime. Throws a `ConfigError` if there is none, or its package is missing. */
export async function loadExecutor({
  idleTimeoutMs = IDLE_TIMEOUT_MS,
  capacity,
}: Pick<CodeModeOptions, "idleTimeoutMs" | "capacity">): Promise<CodeExecutor> {
  const { createExecutor } = await import("#code-executor");
  return createExecutor({ idleTimeoutMs, capacity });
}

function readLimits(own: CodeLimits | undefined, defaults: RunLimits): RunLimits {
  checkNumbers("limits", own, Object.keys(DEFAULT_LIMITS));
  const set = Object.entries(own ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(set) };
}

/** Throws unless all fields have one of these names and are greater than 0. */
function checkNumbers(option: string, given: object | undefined, names: readonly string[]): void {
  const issues = Object.entries(given ?? {}).flatMap(([name, value]): ConfigIssue[] => {
    const path = `${option}.${name}`;
    if (value === undefined) return [];
    if (!names.includes(name)) {
      const [closest] = suggest(name, names);
      return [{ path, message: `there is no such limit${closest ? `; did you mean ${closest}?` : ""}` }];
    }
    if (typeof value !== "number" || !(value > 0))
      return [{ path, message: "must be a number greater than 0" }];
    if (path === "limits.memoryBytes" && value > MAX_MEMORY_BYTES)
      return [{ path, message: `must be at most ${MAX_MEMORY_BYTES}` }];
    return [];
  });
  if (issues.length > 0) throw invalid(issues);
}

const invalid = (issues: readonly ConfigIssue[]): ConfigError =>
  new ConfigError({ code: "INVALID_CONFIG", what: "The options of the code mode are not valid", issues });
