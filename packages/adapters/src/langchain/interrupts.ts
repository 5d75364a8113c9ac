/** Calls of tools in a LangGraph graph that interrupt it while they wait for a person, and the values that resume it. */
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import {
  AuthError,
  ConfigError,
  type ConfigIssue,
  isRecord,
  pushTo,
  SuspensionError,
  sha256,
  ToolportError,
  timeOfUuid,
  toRecord,
} from "@toolport/base";
import {
  type CallToolOptions,
  isSuspended,
  type ResumeInput,
  type Suspended,
  type ToolResult,
} from "@toolport/core";
import { wrongOptions } from "../offered-tools.js";
import { resumeOptions } from "../run-calls.js";
import { resumeTool, type ToolSource } from "../tool-source.js";
import type { HookState, InterruptOptions } from "./client-config.js";

/** What the calls of a tool interrupt the graph for. */
export interface Interrupts {
  readonly reasons: readonly Suspended["reason"][];
  /** The name of the user changes with every process, so a later process cannot find the call. */
  readonly isTemporaryUser: boolean;
}

/** Undefined if neither option is set. A login is needed before both. */
export function interruptsOf(
  { elicitation, approval }: InterruptOptions,
  isTemporaryUser = false,
): Interrupts | undefined {
  const issues = Object.entries({ elicitation, approval })
    .filter(([, value]) => value !== undefined && value !== "interrupt")
    .map(([path]) => ({ path, message: 'must be "interrupt"' }));
  if (issues.length > 0) throw wrongOptions(...issues);
  if (elicitation === undefined && approval === undefined) return undefined;
  const reasons: Suspended["reason"][] = ["login"];
  if (elicitation !== undefined) reasons.push("input");
  if (approval !== undefined) reasons.push("approval");
  return { reasons, isTemporaryUser };
}

/** The configuration that LangChain passes to a tool; `toolCall` is set if a model requested the call. */
export type ToolConfig = RunnableConfig & {
  toolCall?: { readonly id?: string | undefined } | undefined;
  readonly state?: unknown;
  /** Part of the configuration of every node, so LangGraph itself is not needed here. */
  readonly interrupt?: unknown;
};

/** LangGraph's record of one run of a task. Only read here. */
interface Scratchpad {
  readonly interruptCounter?: number;
  readonly resume?: readonly unknown[];
  readonly currentTaskInput?: unknown;
}

/** The task of LangGraph that a call belongs to. */
export interface GraphTask {
  readonly scratchpad: Scratchpad;
  /** LangGraph's `interrupt`: returns the next resume value of the task, or throws its signal. */
  interrupt(value: object): unknown;
}

export const toolCallIdOf = ({ toolCall }: ToolConfig): string | undefined => toolCall?.id || undefined;

/** Set by `McpTool.invoke`, or by LangChain itself. */
export function timeoutOf({ metadata }: ToolConfig): number | undefined {
  const timeoutMs: unknown = metadata?.["timeoutMs"];
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

// The same key that LangGraph's `getCurrentTaskInput` uses.
const scratchpadOf = ({ configurable }: ToolConfig): Scratchpad | undefined =>
  configurable?.["__pregel_scratchpad"] as Scratchpad | undefined;

export function stateOf(config: ToolConfig): HookState {
  return toRecord(scratchpadOf(config)?.currentTaskInput ?? config.state) ?? {};
}

/** Undefined outside of a graph. */
function graphTaskOf(config: ToolConfig): GraphTask | undefined {
  const { interrupt } = config;
  const scratchpad = scratchpadOf(config);
  if (typeof interrupt !== "function" || !isRecord(scratchpad)) return undefined;
  // LangGraph's `interrupt` takes the task from here.
  if (scratchpadOf(implicitConfig()) !== scratchpad) return undefined;
  return { scratchpad, interrupt: interrupt as GraphTask["interrupt"] };
}

/** The configuration of the node or tool that is running. */
const implicitConfig = (): ToolConfig =>
  (AsyncLocalStorageProviderSingleton.getRunnableConfig() as ToolConfig | undefined) ?? {};

/** One call of a tool. */
export interface InterruptibleCall {
  readonly tool: { readonly server: string; readonly sourceName: string };
  readonly toolport: ToolSource;
  /** The name of the tool in the port. */
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: CallToolOptions;
  readonly config: ToolConfig;
  readonly interrupts: Interrupts;
}

/** How long a step of a graph can be interrupted and resumed. */
const LIFE_MS = 7 * 24 * 60 * 60 * 1_000;
/** Results are kept longer, because the clocks of processes differ. */
const SPARE_MS = 60 * 60 * 1_000;

const arrivals = new WeakMap<object, AskingCall>();

/**
 * Announces a call as soon as its tool is invoked, so that its siblings wait for it even if callbacks delay it.
 *
 * @returns a function to call when the call is over; undefined outside of a graph
 */
export function arrive(toolCall: unknown, config: ToolConfig | undefined): (() => void) | undefined {
  const task = graphTaskOf({ ...implicitConfig(), ...config });
  if (!isRecord(toolCall) || task === undefined) return undefined;
  const asking = TaskQuestions.of(task).enter();
  arrivals.set(toolCall, asking);
  return () => {
    arrivals.delete(toolCall);
    asking.leave();
  };
}

/** Calls a tool. Throws LangGraph's signal while the call waits for a person, and continues when the graph is resumed. */
export async function callInterruptibly(call: InterruptibleCall): Promise<ToolResult> {
  const { toolport, name, args, options, config, interrupts } = call;
  const { task, toolCallId, identity } = placeOf(call);
  const announced = config.toolCall && arrivals.get(config.toolCall);
  const asking = announced ?? TaskQuestions.of(task).enter();
  try {
    const key = `langgraph-${await sha256(JSON.stringify(identity))}`;
    const suspend = { key, reasons: interrupts.reasons, ttlMs: LIFE_MS + SPARE_MS };
    const begin = () => toolport.callTool(name, args, { ...options, suspend });
    let out = await begin();
    let problem: InterruptProblem | undefined;
    while (isSuspended(out)) {
      const waiting: Suspended = out;
      const { suspended: _, ...asked } = waiting;
      const question = { ...asked, toolCallId, ...(problem !== undefined && { problem }) };
      const answer = await asking.ask(question as InterruptedCall);
      problem = undefined;
      try {
        out = await resumeTool(toolport, waiting.token, answer, {
          ...resumeOptions(options),
          ...(options.headers && { headers: options.headers }),
        });
      } catch (error) {
        problem = problemOf(waiting, error);
        if (problem !== undefined) continue;
        if (!(error instanceof SuspensionError) || error.code !== "SUSPENSION_UNKNOWN") throw error;
        // It was answered elsewhere in the meantime, for instance in the console.
        const now = await begin();
        if (isSuspended(now) && now.token === waiting.token) throw error;
        out = now;
      }
    }
    return out;
  } finally {
    // An announced call is over later, when LangChain has processed its output.
    if (announced === undefined) asking.leave();
  }
}

/**
 * Where in a graph a call is made. `identity` is the same in every process that runs the graph. Throws `NOT_OFFERED` unless the
 * call can be found again when the graph is resumed.
 */
function placeOf({ tool, config, interrupts }: InterruptibleCall) {
  const refuse = (what: string, next: string): never => {
    throw new SuspensionError({
      code: "NOT_OFFERED",
      server: tool.server,
      tool: tool.sourceName,
      what: `The call was not sent, because it could not interrupt a graph: ${what}`,
      next,
      outcome: "unsent",
    });
  };
  const task = graphTaskOf(config);
  if (task === undefined)
    return refuse(
      "it is not part of a run of LangGraph",
      "Call the tool in a node, with the configuration of the node; elsewhere leave out the options elicitation and approval",
    );
  const { thread_id: thread, checkpoint_ns: namespace, ...internal } = config.configurable ?? {};
  if (!internal["__pregel_checkpointer"] || thread === undefined)
    return refuse("the graph has no checkpointer", "Compile the graph with a checkpointer and set thread_id");
  if (interrupts.isTemporaryUser)
    return refuse(
      "headers or credentials of a caller are bound to this process",
      "Use toLangChainTools(toolport.as(user, { headers }), …), which names the user",
    );
  const toolCallId = toolCallIdOf(config);
  if (toolCallId === undefined)
    return refuse("it has no tool call id", "Invoke the tool with the tool call of the model's message");
  const message = messageOf([config.state, task.scratchpad.currentTaskInput], toolCallId);
  if (message === undefined)
    return refuse(
      "the model's message is not in the state of the node, or has no id",
      "Keep messages in the key messages with MessagesAnnotation, or pass { state: { messages } } to invoke()",
    );
  if (message.calls > 1)
    return refuse("another call of the same message has the same id", "Give every tool call its own id");
  const startedAt = timeOfUuid(checkpointOf(internal["checkpoint_map"], namespace));
  if (startedAt !== undefined && startedAt + LIFE_MS < Date.now())
    throw new SuspensionError({
      code: "OUTCOME_UNKNOWN",
      server: tool.server,
      tool: tool.sourceName,
      what: "This step of the graph began more than 7 days ago, so the result of the call is no longer saved and it may have run",
      next: "Find out whether it did, and let the model call the tool again if it did not",
    });
  return { task, toolCallId, identity: [thread, namespace, message.id, toolCallId] };
}

/** The checkpoint that the task belongs to, a UUID with its time: that of the graph, not of the task's own namespace. */
function checkpointOf(checkpoints: unknown, namespace: unknown): unknown {
  if (!isRecord(checkpoints) || typeof namespace !== "string") return undefined;
  return checkpoints[namespace.split("|").slice(0, -1).join("|")];
}

/** The id of the message that contains the tool call, and how many calls in it have this id. */
function messageOf(
  states: readonly unknown[],
  toolCallId: string,
): { readonly id: string; readonly calls: number } | undefined {
  for (const state of states) {
    const messages: unknown = isRecord(state) ? state["messages"] : state;
    if (!Array.isArray(messages)) continue;
    const hasId = (call: unknown) => isRecord(call) && call["id"] === toolCallId;
    const callsOf = (message: unknown): unknown[] => {
      const calls = (message as { tool_calls?: unknown } | null)?.tool_calls;
      return Array.isArray(calls) ? calls.filter(hasId) : [];
    };
    const message = messages.findLast((item) => callsOf(item).length > 0);
    const id = (message as { id?: unknown } | undefined)?.id;
    if (typeof id === "string" && id !== "") return { id, calls: callsOf(message).length };
  }
  return undefined;
}

/** Undefined for an error that ends the call. After the others, nothing was sent and the same token works. */
function problemOf({ reason }: Suspended, error: unknown): InterruptProblem | undefined {
  if (!ToolportError.isInstance(error) || error.outcome !== "unsent") return undefined;
  const { code, message } = error;
  if (error instanceof AuthError && code === "AUTH_REQUIRED") {
    const { authUrl } = error;
    return { code, message, ...(authUrl !== undefined && { authUrl }) };
  }
  // Otherwise the arguments of the model are invalid, which no answer can change.
  const isWrongAnswer = code === "INVALID_ARGUMENTS" && reason === "input";
  return isWrongAnswer || code === "SUSPENSION_EXPIRED" || error.retryable ? { code, message } : undefined;
}

interface Waiting {
  readonly call: InterruptedCall;
  readonly resolve: (answer: ResumeInput) => void;
  readonly reject: (signal: unknown) => void;
}

/** LangGraph keeps all resume values of a task: far more than a person gives. */
const MAX_VALUES = 10_000;

const tasks = new WeakMap<object, TaskQuestions>();

/**
 * The calls of one LangGraph task that wait for a person. They interrupt the graph together, when no other call of the task is
 * running any more: then the results of all others are saved, and one interrupt lists all questions.
 *
 * LangGraph numbers the interrupts of a task and gives each the resume value of its position. Calls suspend in any order, so
 * answers are matched by token instead: every value that does not belong to a waiting call is skipped.
 */
class TaskQuestions {
  /** Calls that neither wait nor are over. */
  #running = 0;
  #entered = 0;
  /** By the order in which the calls began: that of the model's message. */
  readonly #waiting = new Map<number, Waiting>();
  /** Answers of earlier values, by token, oldest first. */
  readonly #answers = new Map<string, ResumeInput[]>();

  private constructor(private readonly task: GraphTask) {}

  /** All calls of one run of a task share this, whatever port their tools belong to. */
  static of(task: GraphTask): TaskQuestions {
    const questions = tasks.get(task.scratchpad) ?? new TaskQuestions(task);
    tasks.set(task.scratchpad, questions);
    return questions;
  }

  /** A call begins. The others wait for it until it asks or leaves. */
  enter(): AskingCall {
    this.#running += 1;
    this.#entered += 1;
    const order = this.#entered;
    let hasLeft = false;
    return {
      ask: (call) => this.#ask(order, call),
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        this.#running -= 1;
        this.#proceed();
      },
    };
  }

  #ask(order: number, call: InterruptedCall): Promise<ResumeInput> {
    const answer = this.#take(call);
    if (answer !== undefined) return Promise.resolve(answer);
    return new Promise((resolve, reject) => {
      this.#waiting.set(order, { call, resolve, reject });
      this.#running -= 1;
      this.#proceed();
    });
  }

  #proceed(): void {
    if (this.#running > 0) return;
    if (this.#waiting.size === 0) return this.#skipUsed();
    const entries = [...this.#waiting].sort(([a], [b]) => a - b);
    const value: InterruptValue = { type: INTERRUPT_TYPE, calls: entries.map(([, { call }]) => call) };
    try {
      for (let count = 0; count < MAX_VALUES; count += 1) {
        this.#keep(this.task.interrupt(value));
        const answered = entries.flatMap(([order, waiting]) => {
          const answer = this.#take(waiting.call);
          return answer === undefined ? [] : [{ order, waiting, answer }];
        });
        if (answered.length === 0) continue;
        this.#running += answered.length;
        for (const { order } of answered) this.#waiting.delete(order);
        for (const { waiting, answer } of answered) waiting.resolve(answer);
        return;
      }
      throw new Error("LangGraph returns resume values without end");
    } catch (signal) {
      this.#waiting.clear();
      this.#running += entries.length;
      for (const [, { reject }] of entries) reject(signal);
    }
  }

  /**
   * Skips the values that earlier runs of the task used for calls that are over now, so that an `interrupt()` of the node itself
   * gets its own.
   */
  #skipUsed(): void {
    const { resume = [], interruptCounter } = this.task.scratchpad;
    if (typeof interruptCounter !== "number") return;
    for (let at = interruptCounter + 1; isAnswers(resume[at]); at += 1)
      this.#keep(this.task.interrupt({ type: INTERRUPT_TYPE, calls: [] }));
  }

  #keep(value: unknown): void {
    if (!isAnswers(value)) return;
    for (const [token, answer] of Object.entries(value)) pushTo(this.#answers, token, answer);
  }

  /** The next answer that fits the question. */
  #take(call: InterruptedCall): ResumeInput | undefined {
    const answers = this.#answers.get(call.token);
    for (;;) {
      const answer = answers?.shift();
      if (answer === undefined || fits(call, answer)) return answer;
    }
  }
}

/** The place of one call in its task. */
interface AskingCall {
  /** Waits for the answer. Rejects with LangGraph's signal if the graph has to be interrupted for it. */
  ask(call: InterruptedCall): Promise<ResumeInput>;
  /** The call is over. */
  leave(): void;
}

/** Whether this is an answer to such a question; `resume()` checks its content. */
function fits({ reason }: InterruptedCall, value: unknown): value is ResumeInput {
  if (!isRecord(value)) return false;
  const { answers, approve, restart } = value;
  switch (reason) {
    case "input":
      return approve === undefined && (isRecord(answers) || restart === true);
    case "approval":
      return answers === undefined && typeof approve === "boolean";
    default:
      return answers === undefined && approve === undefined;
  }
}

/** Marks an interrupt of Toolport. */
const INTERRUPT_TYPE = "toolport/suspended";

type WithoutFlag<Call> = Call extends unknown ? Omit<Call, "suspended"> : never;

/** A call that waits for a person, as an interrupt lists it. */
export type InterruptedCall = WithoutFlag<Suspended> & {
  /** The id that the model gave the call. */
  readonly toolCallId: string;
  /** Why the last answer could not be used; nothing was sent. */
  readonly problem?: InterruptProblem | undefined;
};

/** Why an answer could not be used. */
export interface InterruptProblem {
  /** A code of Toolport, for instance `INVALID_ARGUMENTS`, `UNREACHABLE` or `SUSPENSION_EXPIRED`. */
  readonly code: string;
  readonly message: string;
  /** The page where the user can log in. */
  readonly authUrl?: string | undefined;
}

/** The value of an interrupt: all calls of a node that wait for a person. Plain JSON. */
export interface InterruptValue {
  readonly type: typeof INTERRUPT_TYPE;
  readonly calls: readonly InterruptedCall[];
}

/** An interrupt as LangGraph reports it: in `__interrupt__` of a result, and in the tasks of `getState()`. */
export interface GraphInterrupt {
  readonly id?: string | undefined;
  readonly value?: unknown;
}

/** Answers by token. */
export type InterruptAnswers = Record<string, ResumeInput>;

/**
 * True for the value of an interrupt that lists suspended calls.
 *
 * @example
 * ```ts
 * for (const { value } of result.__interrupt__ ?? [])
 *   if (isToolportInterrupt(value)) for (const { token, tool, requests } of value.calls) show(token, tool, requests);
 * ```
 */
export const isToolportInterrupt = (value: unknown): value is InterruptValue =>
  isRecord(value) && value["type"] === INTERRUPT_TYPE && Array.isArray(value["calls"]);

/**
 * The value of `new Command({ resume })`: gives every answer to the interrupt that lists its token. Calls without an answer
 * keep waiting.
 *
 * @example
 * ```ts
 * const answers = { [call.token]: { approve: true } };
 * await graph.invoke(new Command({ resume: createResume(result.__interrupt__, answers) }), config);
 * ```
 * @throws ConfigError if no interrupt lists a token of `answers`, or if there are no answers
 */
export function createResume(
  interrupts: readonly GraphInterrupt[],
  answers: Readonly<InterruptAnswers>,
): Record<string, InterruptAnswers> {
  const left = new Map(Object.entries(answers));
  const resume: Record<string, InterruptAnswers> = {};
  for (const { id, value } of interrupts) {
    if (id === undefined || !isToolportInterrupt(value)) continue;
    for (const { token } of value.calls) {
      const answer = left.get(token);
      if (answer === undefined) continue;
      left.delete(token);
      resume[id] = { ...resume[id], [token]: answer };
    }
  }
  const issues: ConfigIssue[] = [];
  if (!isAnswers(answers)) issues.push({ path: "answers", message: "contains no answer" });
  // A token is a secret, so the message does not contain it.
  if (left.size > 0)
    issues.push({ path: "answers", message: `${left.size} of the tokens are listed by no interrupt` });
  if (issues.length === 0) return resume;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "The interrupts cannot be resumed",
    issues,
    next: "Use the tokens of the interrupts that the graph reported last",
  });
}

/** True for a resume value of Toolport: all its keys are tokens, of calls or of programs. */
const isAnswers = (value: unknown): value is InterruptAnswers =>
  isRecord(value) &&
  Object.keys(value).length > 0 &&
  Object.keys(value).every((key) => /^tp[cp]1\./.test(key));
