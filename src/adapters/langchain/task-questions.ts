/**
 * The calls of one LangGraph task that wait for a person. They interrupt the graph together, when no other call of the task is
 * running any more: then the results of all others are saved, and one interrupt lists all questions.
 *
 * LangGraph numbers the interrupts of a task and gives each the resume value of its position. Calls suspend in any order, so
 * answers are matched by token instead: every value that does not belong to a waiting call is skipped.
 */
import type { ResumeInput } from "../../execution/suspend/suspension.js";
import { isRecord } from "../../util/json.js";
import { INTERRUPT_TYPE, type InterruptedCall, type InterruptValue, isAnswers } from "./create-resume.js";

/** LangGraph's record of one run of a task. Only read here. */
export interface Scratchpad {
  readonly interruptCounter?: number;
  readonly resume?: readonly unknown[];
  readonly currentTaskInput?: unknown;
}

/** LangGraph's `interrupt`: returns the next resume value of the task, or throws its signal. */
export type Interrupt = (value: InterruptValue) => unknown;

interface Waiting {
  readonly call: InterruptedCall;
  readonly resolve: (answer: ResumeInput) => void;
  readonly reject: (signal: unknown) => void;
}

/** LangGraph keeps all resume values of a task: far more than a person gives. */
const MAX_VALUES = 10_000;

const tasks = new WeakMap<object, TaskQuestions>();

export class TaskQuestions {
  readonly #scratchpad: Scratchpad;
  readonly #interrupt: Interrupt;
  /** Calls that neither wait nor are over. */
  #running = 0;
  #entered = 0;
  /** By the order in which the calls began: that of the model's message. */
  readonly #waiting = new Map<number, Waiting>();
  /** Answers of earlier values, by token, oldest first. */
  readonly #answers = new Map<string, ResumeInput[]>();

  private constructor(scratchpad: Scratchpad, interrupt: Interrupt) {
    this.#scratchpad = scratchpad;
    this.#interrupt = interrupt;
  }

  /** All calls of one run of a task share this, whatever port their tools belong to. */
  static of({ scratchpad, interrupt }: { scratchpad: Scratchpad; interrupt: Interrupt }): TaskQuestions {
    let questions = tasks.get(scratchpad);
    if (questions === undefined) {
      questions = new TaskQuestions(scratchpad, interrupt);
      tasks.set(scratchpad, questions);
    }
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
    const known = this.#take(call);
    if (known !== undefined) return Promise.resolve(known);
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
        this.#keep(this.#interrupt(value));
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
    const { resume = [], interruptCounter } = this.#scratchpad;
    if (typeof interruptCounter !== "number") return;
    for (let at = interruptCounter + 1; isAnswers(resume[at]); at += 1)
      this.#keep(this.#interrupt({ type: INTERRUPT_TYPE, calls: [] }));
  }

  #keep(value: unknown): void {
    if (!isAnswers(value)) return;
    for (const [token, answer] of Object.entries(value)) {
      const known = this.#answers.get(token);
      if (known === undefined) this.#answers.set(token, [answer]);
      else known.push(answer);
    }
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
export interface AskingCall {
  /** Waits for the answer. Rejects with LangGraph's signal if the graph has to be interrupted for it. */
  ask(call: InterruptedCall): Promise<ResumeInput>;
  /** The call is over. */
  leave(): void;
}

/** Whether this is an answer to such a question; `resume()` checks its content. */
function fits({ reason }: InterruptedCall, given: unknown): given is ResumeInput {
  if (!isRecord(given)) return false;
  const { answers, approve, restart } = given;
  switch (reason) {
    case "input":
      return approve === undefined && (isRecord(answers) || restart === true);
    case "approval":
      return answers === undefined && typeof approve === "boolean";
    default:
      return answers === undefined && approve === undefined;
  }
}
