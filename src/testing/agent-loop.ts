/** An agent's loop as any framework has it: ask the model, make the calls it wants, hand it the answers, until it is done. */

import { ToolportError } from "../errors/toolport-error.js";
import type { CallToolOptions } from "../execution/tool-call.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { ToolInfo } from "../model/tool-info.js";
import type { Toolport } from "../toolport.js";

/** A call that a model asks for. */
export interface AgentCall {
  readonly tool: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** What a model says: calls to be made, or its answer. */
export interface AgentTurn {
  readonly text?: string;
  /** Made at the same time. None: the model is done. */
  readonly calls?: readonly AgentCall[];
}

/** A call and what came of it. */
export interface AgentAnswer extends AgentCall {
  /** What the model is told. */
  readonly text: string;
  readonly isError: boolean;
  /** The tool's whole answer; undefined if the call could not be made. */
  readonly result?: ToolResult | undefined;
  /** Why the call could not be made. */
  readonly error?: ToolportError | undefined;
}

/** One turn of the model's, with the answers to its calls. */
export interface AgentStep {
  readonly turn: AgentTurn;
  readonly answers: readonly AgentAnswer[];
}

/** What a model is given. */
export interface AgentState {
  readonly prompt: string;
  readonly tools: readonly ToolInfo[];
  /** Everything so far; empty at first. */
  readonly steps: readonly AgentStep[];
  /** The answers to the calls of the last turn; empty at first. */
  readonly answers: readonly AgentAnswer[];
}

/** Anything that can be asked for the next turn: a script, or a real model behind a function of yours. */
export type AgentModel = (state: AgentState) => AgentTurn | Promise<AgentTurn>;

export interface AgentLoopOptions {
  readonly toolport: Toolport;
  readonly model: AgentModel;
  readonly prompt: string;
  /** The model is asked no more often than this. @default 10 */
  readonly maxSteps?: number;
  /** Ends the loop and the calls in flight. */
  readonly signal?: AbortSignal;
  /** For every call. */
  readonly callOptions?: Omit<CallToolOptions, "signal">;
  /** Told of every step when its answers are there. */
  readonly onStep?: (step: AgentStep) => void;
}

export interface AgentRun {
  /** What the model said last. */
  readonly text: string;
  readonly steps: readonly AgentStep[];
  /** `"answer"`: the model is done. `"maxSteps"`: it was asked no further. */
  readonly endedBy: "answer" | "maxSteps";
}

/**
 * Runs an agent without any framework.
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
    // Asked for every time: tools come and go while an agent runs.
    const tools = await toolport.tools({ ...(signal && { signal }) });
    const turn = await model({ prompt, tools, steps, answers: steps.at(-1)?.answers ?? [] });
    text = turn.text ?? text;
    const answers = await answerAll(turn.calls ?? [], options);
    const step = { turn, answers };
    steps.push(step);
    onStep?.(step);
    if (answers.length === 0) return { text, steps, endedBy: "answer" };
  }
  return { text, steps, endedBy: "maxSteps" };
}

async function answerAll(calls: readonly AgentCall[], options: AgentLoopOptions): Promise<AgentAnswer[]> {
  const outcomes = await Promise.allSettled(calls.map((call) => answer(call, options)));
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

/** A call that cannot be made is told to the model, as any framework does. */
async function answer(
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
