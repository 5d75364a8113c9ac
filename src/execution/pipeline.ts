/** The call pipeline: one array, outermost first. What a call goes through can be read here from top to bottom. */
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import type { CheckArguments } from "../config/server-entry.js";
import { ConnectionError } from "../errors/connection-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import type { Telemetry } from "../telemetry/open-telemetry.js";
import { type ApproveOption, approveStep } from "./approve.js";
import { type AttemptParts, createAttempt } from "./attempt.js";
import { Breaker, type BreakerOptions, type BreakerSnapshot, breakerStep } from "./breaker.js";
import { type ArgumentCheckParts, checkArgumentsStep, createArgumentCheck } from "./check-arguments.js";
import { checkOutputStep } from "./check-output.js";
import { type FallbackParts, fallbackStep } from "./fallback.js";
import { hasLimits, Limiter, type LimitOptions, limitStep } from "./limits.js";
import { type AroundCall, listenerStep } from "./listeners.js";
import { type ResultSizeOption, resultSizeStep } from "./result-size.js";
import { createRetryBudget, type RetryBudget, type RetryOptions, retryStep } from "./retry.js";
import { serverValidator } from "./server-validator.js";
import { telemetryStep } from "./telemetry-step.js";
import type { CallHandler, CallInterceptor, ToolCall } from "./tool-call.js";

export interface PipelineParts extends Omit<FallbackParts, "fallbackOf" | "report"> {
  attempt: AttemptParts;
  telemetry: Telemetry;
  around: AroundCall;
  validator: SchemaValidator;
  checkArguments: CheckArguments;
  onContradiction: ArgumentCheckParts["onContradiction"];
  configOf: (server: string) => ServerConfig | undefined;
  /** The server was put down on purpose: calls fail at once, so nobody need wait for a turn. */
  isDown: (server: string) => boolean;
  /** Steps of the user's. */
  interceptors: readonly CallInterceptor[];
  approve: ApproveOption | undefined;
  retry: RetryOptions | undefined;
  breaker: BreakerOptions | undefined;
  limits: LimitOptions;
  maxResultBytes: ResultSizeOption | undefined;
}

export interface Pipeline {
  readonly call: CallHandler;
  /** The result of a task (`call.task`) that a call made earlier: only what concerns results is left to do. */
  readonly taskResult: CallHandler;
  breakerOf(server: string): BreakerSnapshot | null;
  /** The server did not answer a ping. */
  silent(server: string, error: ToolportError): void;
  /** The server is connected again: the next call may try it out. */
  reconnected(server: string): void;
  /** Somebody brought the server up on purpose: what was held against it is forgotten. */
  forgive(server: string): void;
  /** It was put down: nobody waits for a turn any more, and what failed because of it says nothing about it. */
  disconnected(server: string): void;
  /** It was removed: another one of the same name starts anew. */
  forget(server: string): void;
}

export function createPipeline(parts: PipelineParts): Pipeline {
  const { configOf, validator } = parts;
  const { report } = parts.attempt;
  const { retry = {}, breaker = {}, maxResultBytes, approve } = parts;
  const isTrusted = (server: string): boolean => configOf(server)?.trustAnnotations === true;
  const trusts = ({ tool }: ToolCall): boolean =>
    isTrusted(tool.server) && (tool.definedBy === undefined || isTrusted(tool.definedBy));
  const breakers = perServer((server) => new Breaker(server, breaker === false ? {} : breaker));
  const budgets = perServer<RetryBudget>(createRetryBudget);
  const limiters = perServer((server) => limiterOf(server, configOf(server), parts.limits));

  const sizeStep =
    maxResultBytes !== undefined && resultSizeStep(maxResultBytes, { report: parts.attempt.report });
  const outputStep = checkOutputStep(validatorOf, (server, error) => {
    const config = parts.configOf(server);
    return config === undefined ? error : secretsOf(config).redactError(error);
  });

  const check = createArgumentCheck({
    validator,
    configOf,
    schemaOf: originalSchema,
    mode: parts.checkArguments,
    onContradiction: parts.onContradiction,
  });

  const steps: readonly (CallInterceptor | false)[] = [
    telemetryStep(parts.telemetry), // one span around everything
    listenerStep(parts.around), // told before and after
    ...parts.interceptors, // the user's own steps
    approve !== undefined && approveStep(approve, { isReadOnly, check, schemaOf: originalSchema }), // may what would be sent be done at all?
    sizeStep,
    fallbackStep({ ...parts, report, fallbackOf: (server) => configOf(server)?.fallback }), // the servers, one after the other
    checkArgumentsStep(check), // against the schema of the server that is asked now; adds the values of interceptors
    breaker !== false && breakerStep(breakers.get),
    retryStep({ budgetFor: budgets.get, options: retry, mayRepeat: isRepeatable, report }),
    limitStep(limiterFor), // a place in the queue for every attempt
    outputStep,
  ];

  function validatorOf({ tool }: ToolCall): SchemaValidator {
    return serverValidator(configOf(tool.server)) ?? validator;
  }

  function limiterFor(server: string): Limiter | undefined {
    return parts.isDown(server) ? undefined : limiters.get(server);
  }

  function originalSchema({ tool }: ToolCall) {
    return parts.attempt.sourceOf(tool.server, tool.sourceName)?.source.inputSchema ?? tool.inputSchema;
  }

  /** Hints count only from servers that are trusted. */
  function isReadOnly(call: ToolCall): boolean {
    return trusts(call) && call.tool.annotations?.readOnlyHint === true;
  }

  function isRepeatable(call: ToolCall): boolean {
    const { annotations } = call.tool;
    return trusts(call) && (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
  }

  const attempt = createAttempt({ ...parts.attempt, isRepeatable });
  const line = (chosen: readonly (CallInterceptor | false)[]): CallHandler =>
    chosen.filter((step) => step !== false).reduceRight<CallHandler>((next, step) => step(next), attempt);
  return {
    call: line(steps),
    taskResult: line([sizeStep, outputStep]),
    breakerOf: (server) => breakers.peek(server)?.snapshot ?? null,
    silent: (server, error) => breaker !== false && breakers.get(server).silent(error),
    reconnected: (server) => breakers.peek(server)?.allowProbe(),
    forgive: breakers.forget,
    disconnected(server) {
      breakers.forget(server);
      limiters.peek(server)?.clear(disconnectedError(server));
    },
    forget(server) {
      for (const known of [breakers, budgets, limiters]) known.forget(server);
    },
  };
}

function limiterOf(
  server: string,
  config: ServerConfig | undefined,
  port: LimitOptions,
): Limiter | undefined {
  const limits: LimitOptions = {
    ...port,
    ...(config?.concurrency !== undefined && { concurrency: config.concurrency }),
    ...(config?.rateLimit !== undefined && {
      rateLimit: config.rateLimit as NonNullable<LimitOptions["rateLimit"]>,
    }),
  };
  return hasLimits(limits) ? new Limiter(server, limits) : undefined;
}

const disconnectedError = (server: string): ConnectionError =>
  new ConnectionError({
    code: "CLOSED",
    server,
    what: "The server was disconnected while the call waited for its turn",
    outcome: "unsent",
  });

/** Something of its own for every server, made when it is first asked for. */
function perServer<Value>(make: (server: string) => Value) {
  const made = new Map<string, Value>();
  return {
    peek: (server: string): Value | undefined => made.get(server),
    forget: (server: string): void => void made.delete(server),
    get(server: string): Value {
      const known = made.get(server);
      if (known !== undefined || made.has(server)) return known as Value;
      const value = make(server);
      made.set(server, value);
      return value;
    },
  };
}
