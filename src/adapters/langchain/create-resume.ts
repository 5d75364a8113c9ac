/** The value of an interrupt that lists suspended calls, and the value that resumes it. */
import { ConfigError, type ConfigIssue } from "../../errors/toolport-error.js";
import type { ResumeInput, Suspended } from "../../execution/suspend/suspension.js";
import { isRecord } from "../../util/json.js";

/** Marks an interrupt of Toolport. */
export const INTERRUPT_TYPE = "toolport/suspended";

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
export const isAnswers = (value: unknown): value is InterruptAnswers =>
  isRecord(value) &&
  Object.keys(value).length > 0 &&
  Object.keys(value).every((key) => /^tp[cp]1\./.test(key));
