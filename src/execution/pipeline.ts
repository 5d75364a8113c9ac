/** The call pipeline: two arrays of steps, outermost first. A call passes through them from top to bottom. */
import type { CheckArguments } from "../config/server-entry.js";
import type { ServerConnection } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import type { Telemetry } from "../telemetry/open-telemetry.js";
import { type ApproveOption, approveStep } from "./approve.js";
import type { Artifacts } from "./artifacts/artifact-store.js";
import { type AttemptParts, createAttempt } from "./attempt.js";
import { type BreakerOptions, breakerStep } from "./breaker.js";
import { type CallTarget, type CallTargetParts, CallTargets } from "./call-target.js";
import { checkArgumentsStep, createArgumentCheck } from "./check-arguments.js";
import { checkOutputStep } from "./check-output.js";
import { type FallbackParts, fallbackStep } from "./fallback.js";
import type { OnContradiction } from "./invalid-arguments.js";
import { listenerStep, type ObserveCall } from "./listeners.js";
import { type LimitOptions, limitStep } from "./rate-limit.js";
import { type ResultSizeOption, resultSizeStep } from "./result-size.js";
import { type RetryOptions, retryStep } from "./retry.js";
import { needsNoPerson, suspendForLogin } from "./suspend/paused-result.js";
import {
  type CallAnswer,
  type CallAttempt,
  type CallHandler,
  type CallInterceptor,
  type CallStep,
  continuesRound,
  type ResolvedCall,
  type ResolvedHandler,
  type ToolCall,
} from "./tool-call.js";

export interface PipelineParts
  extends Pick<CallTargetParts, "connections" | "catalog">,
    Omit<AttemptParts, "telemetry" | "sourceOf">,
    Omit<FallbackParts, "resolve" | "report"> {
  telemetry: Telemetry;
  observe: ObserveCall;
  validator: SchemaValidator;
  checkArguments: CheckArguments;
  onContradiction: OnContradiction;
  /** The interceptors of the user. */
  interceptors: readonly CallInterceptor[];
  approve: ApproveOption | undefined;
  retry: RetryOptions | undefined;
  breaker: BreakerOptions | undefined;
  limits: LimitOptions;
  maxResultBytes: ResultSizeOption | undefined;
  /** Where `maxResultBytes` keeps texts that can be read later. */
  artifacts: () => Artifacts;
}

type Answering = (call: ToolCall) => Promise<CallAnswer>;

export interface Pipeline {
  readonly call: Answering;
  /** Waits for the result of a task that an earlier call started (`call.task`). */
  readonly taskResult: Answering;
  /** Asks `approve` and sends nothing: rejects unless the call is suspended. */
  readonly approval: Answering;
  readonly targets: CallTargets;
}

export function createPipeline(parts: PipelineParts): Pipeline {
  const {
    telemetry,
    observe,
    interceptors,
    approve,
    maxResultBytes,
    report,
    breaker = {},
    retry = {},
  } = parts;
  const targets = new CallTargets({ ...parts, breaker });
  const resolve = (tool: ToolCall["tool"]) => targets.resolve(tool);
  const check = createArgumentCheck({ mode: parts.checkArguments, onContradiction: parts.onContradiction });
  const limitSize =
    maxResultBytes !== undefined && resultSizeStep(maxResultBytes, { report, artifacts: parts.artifacts });
  const checkOutput = when(hasOutputSchema, checkOutputStep(parts.onContradiction));
  const attempt = createAttempt({ ...parts, sourceOf: (tool) => targets.sourceOf(tool) });

  /** From here on the call has a target: the server it is sent to. */
  const resolveTarget =
    (next: ResolvedHandler): Answering =>
    async (call) => {
      const { tool } = call;
      let target: CallTarget;
      try {
        target = targets.resolve(tool);
      } catch (cause) {
        throw toToolportError(cause, { server: tool.server, tool: tool.sourceName });
      }
      return next({ ...call, target });
    };

  const callServer = chain<ResolvedCall>(
    [
      // Runs the steps below for each server. `admitFallback` of the caller may skip a fallback server before anything is sent to it, or
      // keep the arguments as they are.
      when(hasFallback, fallbackStep({ ...parts, resolve })),
      checkArgumentsStep(check), // against the schema of this server; adds the values of interceptors
      breakerStep,
      retryStep({ options: retry, report }),
      when(hasLimiter, limitStep(limiterOf)), // one place in the queue for each attempt
      checkOutput,
    ],
    attempt,
  );
  const ask = approve !== undefined && approveStep(approve, { check, resolve });
  const call = chain<ToolCall>(
    [
      telemetryStep(telemetry), // one span around everything
      when(observe.isObserved, listenerStep(observe)),
      when(isSuspendable, suspendForLogin),
      interceptorStep(interceptors),
      ask, // sees the arguments that would be sent
      limitSize,
    ],
    resolveTarget(callServer),
  );
  const approval = chain<ToolCall>([interceptorStep(interceptors), ask], async ({ tool }) => {
    // Not a result, which could end up in the cache of an interceptor.
    throw needsNoPerson(tool);
  });
  const taskResult = chain<ToolCall>([limitSize], resolveTarget(checkOutput(attempt)));
  return { call, taskResult, approval, targets };
}

/** Runs every call in a span `execute_tool {tool}`, which contains the spans of all attempts. */
export function telemetryStep(telemetry: Telemetry): CallStep {
  return (next) => async (call) => {
    if (!telemetry.isActive) return next(call);
    const { tool, attempts } = call;
    let answer: CallAnswer | undefined;
    let repairs = 0;
    const onSent: ToolCall["onSent"] = (_sent, repaired = []) => {
      repairs = repaired.length;
    };
    const end = () => ({
      server: answer?.result.server ?? attempts.at(-1)?.server ?? tool.server,
      attempts: attempts.length,
      repairs,
      suspended: answer?.pause?.reason,
    });
    await telemetry.toolCall({ tool: tool.name, end }, async () => {
      answer = await next({ ...call, onSent });
      return answer.result;
    });
    return answer!;
  };
}

/** Runs the interceptors of the user, who see and return results only. */
function interceptorStep(interceptors: readonly CallInterceptor[]): CallStep | false {
  if (interceptors.length === 0) return false;
  return (next) => {
    /** The last answer of each call, by the array that all its attempts share. */
    const answers = new WeakMap<readonly CallAttempt[], CallAnswer>();
    const send: CallHandler = async (call) => {
      const answer = await next(call);
      answers.set(call.attempts, answer);
      return answer.result;
    };
    const run = interceptors.reduceRight((inner, interceptor) => interceptor(inner), send);
    return async (call) => {
      const result = await run(call);
      return { ...answers.get(call.attempts), result };
    };
  };
}

type Handler<Call> = (call: Call) => Promise<CallAnswer>;

const chain = <Call>(steps: readonly (CallStep<Call> | false)[], last: Handler<Call>): Handler<Call> =>
  steps.filter((step) => step !== false).reduceRight((next, step) => step(next), last);

/** Skips the step for calls that do not need it. */
const when =
  <Call>(isNeeded: (call: Call) => boolean, step: CallStep<Call>): CallStep<Call> =>
  (next) => {
    const run = step(next);
    return (call) => (isNeeded(call) ? run(call) : next(call));
  };

const hasFallback = (call: ResolvedCall): boolean =>
  call.target.config.fallback !== undefined && !continuesRound(call);
const isSuspendable = ({ suspension }: ToolCall): boolean => suspension !== undefined;
const hasLimiter = ({ target }: ResolvedCall): boolean => target.guards.limiter !== undefined;
const hasOutputSchema = ({ tool }: ResolvedCall): boolean => tool.outputSchema !== undefined;

/** Calls to a disconnected server fail at once, so they do not wait in its queue. */
const limiterOf = ({ target }: ResolvedCall) =>
  isDisconnected(target.connection.current) ? undefined : target.guards.limiter;

const isDisconnected = ({ state }: ServerConnection): boolean =>
  state.status === "closed" && state.by !== "idleness";
