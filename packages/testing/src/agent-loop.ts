/** A minimal agent loop: asks the model, runs the tool calls it requests, and passes the results back until the model is done. */
import { type ToolInfo, ToolportError } from "@toolport/base";
import type { CallToolOptions, Toolport, ToolResult } from "@toolport/core";

/** A tool call that a model requests. */
export interface AgentCall {
  readonly tool: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** One turn of a model: tool calls, or the final answer. */
export interface AgentTurn {
  readonly text?: string;
  /** Run concurrently. None: the model is done. */
  readonly calls?: readonly AgentCall[];
}

/** A tool call and its result. */
export interface AgentAnswer extends AgentCall {
  /** The text that the model receives. */
  readonly text: string;
  readonly isError: boolean;
  /** The complete result of the tool; undefined if the call failed. */
  readonly result?: ToolResult | undefined;
  /** Why the call failed. */
  readonly error?: ToolportError | undefined;
}

/** One turn of the model with the results of its calls. */
export interface AgentStep {
  readonly turn: AgentTurn;
  readonly answers: readonly AgentAnswer[];
}

/** The input of a model. */
export interface AgentState {
  readonly prompt: string;
  readonly tools: readonly ToolInfo[];
  /** All steps so far; empty in the first turn. */
  readonly steps: readonly AgentStep[];
  /** Results of the calls of the last turn; empty in the first turn. */
  readonly answers: readonly AgentAnswer[];
}

/** Returns the next turn: a script, or a function that calls a real model. */
export type AgentModel = (state: AgentState) => AgentTurn | Promise<AgentTurn>;

/** Options of `runAgentLoop()`. */
export interface AgentLoopOptions {
  readonly toolport: Toolport;
  readonly model: AgentModel;
  readonly prompt: string;
  /** Maximum number of turns. @default 10 */
  readonly maxSteps?: number;
  /** Aborts the loop and the calls in flight. */
  readonly signal?: AbortSignal;
  /** Options of every call. */
  readonly callOptions?: Omit<CallToolOptions, "signal">;
  /** Called after every step. */
  readonly onStep?: (step: AgentStep) => void;
}

/** What `runAgentLoop()` returns. */
export interface AgentRun {
  /** The last text of the model. */
  readonly text: string;
  readonly steps: readonly AgentStep[];
  /** `"answer"`: the model is done. `"maxSteps"`: the limit was reached. */
  readonly endedBy: "answer" | "maxSteps";
}

/**
 * Runs an agent without a framework.
 *
 * @example
 * ```ts
 * const { text, steps } = await runAgentLoop({ toolport, model, prompt: "What is the weather in Oslo?" });
 * ```
 */
export async function runAgentLoop(options: AgentLoopOptions): Promise<AgentRun> {
  const { toolport, model, prompt, maxSteps = 10, signal, onStep } = options;
  const steps: AgentStep[] = [];
  let text = "";
  while (steps.length < maxSteps) {
    signal?.throwIfAborted();
    // Tools may change while the agent runs.
    const tools = await toolport.tools({ ...(signal && { signal }) });
    const turn = await model({ prompt, tools, steps, answers: steps.at(-1)?.answers ?? [] });
    text = turn.text ?? text;
    const answers = await runCalls(turn.calls ?? [], options);
    const step = { turn, answers };
    steps.push(step);
    onStep?.(step);
    if (answers.length === 0) return { text, steps, endedBy: "answer" };
  }
  return { text, steps, endedBy: "maxSteps" };
}

async function runCalls(calls: readonly AgentCall[], options: AgentLoopOptions): Promise<AgentAnswer[]> {
  const running = calls.map((call) => runCall(call, options));
  await Promise.allSettled(running);
  return Promise.all(running);
}

/** Passes a failed call to the model as a result, as agent frameworks do. */
async function runCall(
  call: AgentCall,
  { toolport, signal, callOptions }: AgentLoopOptions,
): Promise<AgentAnswer> {
  try {
    const result = await toolport.callTool(call.tool, call.args ?? {}, {
      ...callOptions,
      ...(signal && { signal }),
    });
    return { ...call, text: result.text, isError: result.isError, result };
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    return { ...call, text: error.message, isError: true, error };
  }
}

/** One rule: when it applies, and the turn it returns. */
export interface ScriptRule {
  /**
   * Must match the last text (the prompt in the first turn, then the results of the tools).
   * @default the rule always applies
   */
  readonly when?: string | RegExp | ((state: AgentState) => boolean);
  /** The final text, the turn, or a function that returns one of them. */
  readonly say: string | AgentTurn | ((state: AgentState) => string | AgentTurn);
  /** How often the rule may apply. @default 1 */
  readonly times?: number;
}

/**
 * Creates a model that follows rules. Every turn uses the first rule that applies and is not used up, so that rules without
 * `when` are used one after the other.
 *
 * @example
 * ```ts
 * const model = createScriptedModel([
 *   { when: "weather", say: { calls: [{ tool: "weather__forecast", args: { city: "Oslo" } }] } },
 *   { say: ({ answers }) => `They say: ${answers[0]?.text}` },
 * ]);
 * ```
 */
export function createScriptedModel(rules: readonly ScriptRule[]): AgentModel {
  const left = rules.map(({ times = 1 }) => times);
  return (state) => {
    const text = lastText(state);
    const index = rules.findIndex((rule, index) => left[index]! > 0 && applies(rule, state, text));
    const rule = rules[index];
    if (rule === undefined)
      throw new Error(`The script has no rule for the last text: ${JSON.stringify(text.slice(0, 200))}`);
    left[index]! -= 1;
    const turn = typeof rule.say === "function" ? rule.say(state) : rule.say;
    return typeof turn === "string" ? { text: turn } : turn;
  };
}

const lastText = ({ prompt, answers }: AgentState): string =>
  answers.length === 0 ? prompt : answers.map(({ text }) => text).join("\n");

function applies({ when }: ScriptRule, state: AgentState, text: string): boolean {
  if (when === undefined) return true;
  if (typeof when === "function") return when(state);
  // Not `test()`, which is stateful with the flag `g`.
  return typeof when === "string" ? text.includes(when) : text.search(when) >= 0;
}
