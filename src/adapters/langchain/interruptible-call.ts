/** Calls of tools in a LangGraph graph that interrupt it while they wait for a person. */
import { AuthError, ConfigError, SuspensionError, ToolportError } from "../../errors/toolport-error.js";
import type { SuspendReason } from "../../execution/suspend/call-suspension.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { CallToolOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { isRecord } from "../../util/json.js";
import { sha256 } from "../../util/text.js";
import { resumeOptions } from "../pending-calls.js";
import { resumeTool, type ToolSource } from "../tool-source.js";
import type { InterruptOptions } from "./client-config.js";
import type { InterruptedCall, InterruptProblem } from "./create-resume.js";
import { type AskingCall, TaskQuestions } from "./task-questions.js";
import { graphTaskOf, implicitConfig, type ToolConfig, toolCallIdOf } from "./tool-config.js";

/** What the calls of a tool interrupt the graph for. */
export interface Interrupts {
  readonly reasons: readonly SuspendReason[];
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
  if (issues.length > 0)
    throw new ConfigError({ code: "INVALID_CONFIG", issues, next: "Correct or remove the option" });
  if (elicitation === undefined && approval === undefined) return undefined;
  const reasons: SuspendReason[] = ["login"];
  if (elicitation !== undefined) reasons.push("input");
  if (approval !== undefined) reasons.push("approval");
  return { reasons, isTemporaryUser };
}

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
      const answer = await asking.ask(toInterrupted(waiting, toolCallId, problem));
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
  const startedAt = timeOfId(checkpointOf(internal["checkpoint_map"], namespace));
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

/** The checkpoint that the task belongs to: that of the graph, not of the task's own namespace. */
function checkpointOf(checkpoints: unknown, namespace: unknown): unknown {
  if (!isRecord(checkpoints) || typeof namespace !== "string") return undefined;
  return checkpoints[namespace.split("|").slice(0, -1).join("|")];
}

/** The time in a UUID of version 6, which LangGraph uses for checkpoints, or 7; undefined for anything else. */
function timeOfId(id: unknown): number | undefined {
  if (typeof id !== "string") return undefined;
  const [, high = "", middle = "", version, low = ""] =
    /^([\da-f]{8})-([\da-f]{4})-([67])([\da-f]{3})-/i.exec(id) ?? [];
  if (version === "7") return Number.parseInt(`${high}${middle}`, 16);
  if (version !== "6") return undefined;
  const sinceGregorian = Number(BigInt(`0x${high}${middle}${low}`) / 10_000n);
  return sinceGregorian - GREGORIAN_MS;
}

/** From the start of the Gregorian calendar to 1970. */
const GREGORIAN_MS = 12_219_292_800_000;

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

function toInterrupted(
  { suspended: _, ...call }: Suspended,
  toolCallId: string,
  problem: InterruptProblem | undefined,
): InterruptedCall {
  return { ...call, toolCallId, ...(problem !== undefined && { problem }) } as InterruptedCall;
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
