/**
 * The call pipeline: two arrays of steps, outermost first. A call passes through them from top to bottom. Steps that every call needs are in
 * this file: they resolve its server, and check its arguments and its result.
 */
import type { ClientOptions } from "@modelcontextprotocol/client";
import {
  ConnectionError,
  type Telemetry,
  ToolCallError,
  type ToolInfo,
  type ToolportError,
  toToolportError,
} from "@toolport/base";
import {
  applyDefaults,
  createSchemaValidator,
  fromSdkValidator,
  type SchemaValidator,
  sayUnchecked,
  uncheckedParts,
} from "@toolport/schemas/internal";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { SourceTool } from "../catalog/source-tool.js";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import type { CheckArguments } from "../config/server-entry.js";
import type { ServerConnection } from "../connection/server-connection.js";
import { type ApproveOption, approveStep } from "./approve.js";
import type { Artifacts } from "./artifacts/artifact-store.js";
import { type AttemptParts, createAttempt } from "./attempt.js";
import { Breaker, type BreakerOptions, type BreakerSnapshot, breakerStep } from "./breaker.js";
import { type FallbackParts, fallbackStep } from "./fallback.js";
import type { OnContradiction } from "./invalid-arguments.js";
import { listenerStep, type ObserveCall } from "./listeners.js";
import { hasLimits, Limiter, type LimitOptions, limitStep } from "./rate-limit.js";
import { type ResultSizeOption, resultSizeStep } from "./result-size.js";
import { type RetryOptions, retryStep } from "./retry.js";
import { needsNoPerson, suspendForLogin } from "./suspend/paused-result.js";
import {
  type ArgumentCheck,
  type CallAnswer,
  type CallAttempt,
  type CallHandler,
  type CallInterceptor,
  type CallStep,
  type CallTarget,
  continuesRound,
  type ResolvedCall,
  type ResolvedHandler,
  type SentArguments,
  type ServerGuards,
  type ServerStep,
  type ToolCall,
  withAdded,
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
  const check = createArgumentCheck(parts);
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

interface CallTargetParts {
  readonly connections: {
    get(server: string): ServerConnection | undefined;
    /** Throws `UNKNOWN_SERVER`. */
    require(server: string): ServerConnection;
  };
  readonly catalog: { find(server: string, sourceName: string): CatalogEntry | undefined };
  /** For servers without a validator of their own. */
  readonly validator: SchemaValidator;
  readonly breaker: BreakerOptions;
  /** For servers without limits of their own. */
  readonly limits: LimitOptions;
}

type NamedTool = Pick<ToolInfo, "server" | "sourceName">;

/** Resolves targets, and keeps the circuit breaker, limiter and retry budget of each server. */
class CallTargets {
  readonly #parts: CallTargetParts;
  readonly #guards = new Map<string, ServerGuards>();

  constructor(parts: CallTargetParts) {
    this.#parts = parts;
  }

  /** Throws `UNKNOWN_SERVER` if the server was removed. */
  resolve(tool: NamedTool & Pick<ToolInfo, "definedBy">): CallTarget {
    const { connections, catalog, validator } = this.#parts;
    const connection = connections.require(tool.server);
    const { config, session } = connection;
    const guards = this.#guards.get(tool.server) ?? this.#createGuards(tool.server);
    return {
      connection,
      config,
      session,
      source: catalog.find(tool.server, tool.sourceName)?.source,
      validator: config.clientOptions === undefined ? validator : (validatorOf(config) ?? validator),
      isTrusted:
        config.trustAnnotations === true &&
        (tool.definedBy === undefined || connections.get(tool.definedBy)?.config.trustAnnotations === true),
      breaker: guards.breaker ?? this.#createBreaker(guards, tool.server),
      guards,
    };
  }

  /** The tool as its server lists it now. */
  sourceOf({ server, sourceName }: NamedTool): SourceTool | undefined {
    return this.#parts.catalog.find(server, sourceName)?.source;
  }

  /** False while a later call must know something about an earlier one. */
  get isUnused(): boolean {
    const guards = [...this.#guards.values()];
    return guards.every(({ breaker, limiter, retryBudget }) => !breaker && !limiter && !retryBudget);
  }

  /** Null before the first call to the server. */
  breakerSnapshot(server: string): BreakerSnapshot | null {
    return this.#guards.get(server)?.breaker?.snapshot ?? null;
  }

  /** The server did not answer a ping. */
  silent(server: string, error: ToolportError): void {
    const guards = this.#guards.get(server) ?? this.#createGuards(server);
    (guards.breaker ?? this.#createBreaker(guards, server))?.silent(error);
  }

  /** The server is connected again: an open breaker lets the next call through. */
  reconnected(server: string): void {
    this.#guards.get(server)?.breaker?.allowProbe();
  }

  resetBreaker(server: string): void {
    const guards = this.#guards.get(server);
    // A new breaker at the next call: failures of calls that are still under way do not count for it.
    if (guards !== undefined) guards.breaker = undefined;
  }

  /** Rejects the calls that wait in the queue of the server, and resets its breaker. */
  disconnected(server: string): void {
    this.resetBreaker(server);
    this.#guards.get(server)?.limiter?.clear(disconnectedError(server));
  }

  /** The server was removed. Another one of the same name starts with new state. */
  forget(server: string): void {
    this.#guards.delete(server);
  }

  #createGuards(server: string): ServerGuards {
    const { concurrency, rateLimit } = this.#parts.connections.get(server)?.config ?? {};
    const { limits: port } = this.#parts;
    const limits = {
      ...port,
      concurrency: concurrency ?? port.concurrency,
      rateLimit: rateLimit ?? port.rateLimit,
    };
    const limiter = hasLimits(limits) ? new Limiter(server, limits) : undefined;
    const guards: ServerGuards = { breaker: undefined, limiter, retryBudget: undefined };
    this.#guards.set(server, guards);
    return guards;
  }

  #createBreaker(guards: ServerGuards, server: string): Breaker | undefined {
    const { breaker } = this.#parts;
    if (breaker !== false) guards.breaker = new Breaker(server, breaker);
    return guards.breaker;
  }
}

const disconnectedError = (server: string): ConnectionError =>
  new ConnectionError({
    code: "CLOSED",
    server,
    what: "The server was disconnected while the call waited in its queue",
    outcome: "unsent",
  });

/** Compiled schemas live as long as the user's validator. */
const validators = new WeakMap<NonNullable<ClientOptions["jsonSchemaValidator"]>, SchemaValidator>();

/** The validator in `clientOptions` of a server's entry. */
function validatorOf({ clientOptions }: ServerConfig): SchemaValidator | undefined {
  const given = clientOptions?.reveal().jsonSchemaValidator;
  if (given === undefined) return undefined;
  const validator = validators.get(given) ?? createSchemaValidator({ validator: fromSdkValidator(given) });
  validators.set(given, validator);
  return validator;
}

interface ArgumentCheckParts {
  /** For calls and servers that do not set `checkArguments`. */
  readonly checkArguments: CheckArguments;
  readonly onContradiction: OnContradiction;
}

/** Checks arguments against the tool's own schema before anything is sent. Invalid arguments are repaired or rejected. */
function createArgumentCheck({ checkArguments, onContradiction }: ArgumentCheckParts): ArgumentCheck {
  const inspected = new WeakSet<object>();
  return async (call) => {
    const { args, added, options, checked, target, tool, suspension } = call;
    // A later round repeats the arguments of the first one.
    if (suspension?.input !== undefined) return { args: suspension.input.args };
    const { source } = target;
    // As the server sent it, even if a mapper shows another one to models.
    const schema = source?.inputSchema ?? tool.inputSchema;
    const mode = options.checkArguments ?? target.config.checkArguments ?? checkArguments;
    const isSame = checked?.schema === schema && checked.args === args && checked.added === added;
    // The caller may forbid a repair that was made for the server before.
    if (isSame && (mode !== "strict" || checked.sent?.repaired === undefined)) return checked.sent;
    let filled = options.applyDefaults === true ? (applyDefaults(schema, args) as ToolCall["args"]) : args;
    let repaired: SentArguments["repaired"];
    if (mode !== "off") {
      if (source !== undefined && !inspected.has(source)) {
        inspected.add(source);
        const unchecked = uncheckedParts(source.raw);
        if (unchecked.length > 0) onContradiction(tool, uncheckedMessage(tool, unchecked));
      }
      const issues = await target.validator.validate(schema, filled, call.budget);
      if (issues.length > 0) {
        // Loaded on first use: most calls are valid.
        const { repairOrThrow } = await import("./invalid-arguments.js");
        const invalid = { call, schema, args: filled, mode, issues };
        ({ args: filled, repaired } = await repairOrThrow(invalid, onContradiction));
      }
    }
    if (filled === args && added === undefined) return undefined;
    return { args: withAdded({ args: filled, added }), repaired };
  };
}

const uncheckedMessage = ({ sourceName }: ToolCall["tool"], unchecked: readonly string[]): string =>
  `The tool ${JSON.stringify(sourceName)} has a schema that Toolport cannot check in full. Its calls are sent without checking ` +
  `${sayUnchecked(unchecked)}. Report this to the author of the server (SCHEMA_CONTRADICTS)`;

/** Passes the checked arguments on. */
const checkArgumentsStep =
  (check: ArgumentCheck): ServerStep =>
  (next) =>
  async (call) => {
    const sent = await check(call);
    if (sent === undefined) {
      call.onSent?.(call, undefined);
      return next(call);
    }
    const { args, repaired } = sent;
    call.onSent?.({ ...call, args }, repaired);
    const answer = await next({ ...call, args, added: undefined, checked: undefined });
    return repaired === undefined ? answer : { ...answer, result: { ...answer.result, repaired } };
  };

/**
 * Checks the structured content of a result against the tool's output schema. Throws `INVALID_OUTPUT`. A result with `isError` need not match the schema, and a schema that cannot be applied refuses nothing.
 *
 * @param onUnchecked called with a warning if the schema cannot be applied
 */
const checkOutputStep =
  (onUnchecked: OnContradiction): ServerStep =>
  (next) =>
  async (call) => {
    const { tool, target } = call;
    const { outputSchema } = tool;
    const answer = await next(call);
    const { result, isOpen } = answer;
    if (outputSchema === undefined || result.isError || isOpen) return answer;
    const invalidOutput = (what: string, issues: readonly { path: string; message: string }[]) =>
      // Errors end up in logs, and the result may repeat secrets that were sent to the server.
      secretsOf(target.config).redactError(
        new ToolCallError({
          code: "INVALID_OUTPUT",
          server: tool.server,
          tool: tool.sourceName,
          what,
          next: "The result is in `result`; report this to the author of the server",
          issues,
          result,
        }),
      );
    if (result.structuredContent === undefined)
      throw invalidOutput("The tool declares structured content but sent none", []);
    const issues = await target.validator.validate(outputSchema, result.structuredContent, call.budget);
    if (issues.length === 0) return answer;
    if (issues.every(({ unchecked }) => unchecked)) {
      onUnchecked(
        tool,
        `The output schema of the tool ${JSON.stringify(tool.sourceName)} cannot be applied: ${issues[0]!.path} ${issues[0]!.message}. ` +
          "The result was accepted; report this to the author of the server (SCHEMA_CONTRADICTS)",
      );
      return answer;
    }
    const problems = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw invalidOutput(`The result does not match the tool's output schema: ${problems}`, issues);
  };
