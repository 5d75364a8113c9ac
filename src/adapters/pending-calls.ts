/** Runs the calls of a model when some of them may wait for a person, and continues those later. */

import { ToolportError } from "../errors/toolport-error.js";
import { READ_ARTIFACT_NAME } from "../execution/artifacts/artifact-store.js";
import {
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
} from "../execution/suspend/suspension.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { AudienceRule } from "./content-options.js";
import { calledTool, createFitter, type WithForModel } from "./for-model.js";
import { resultParts, textPart } from "./result-parts.js";
import {
  type AnyRunOptions,
  type CallOutcome,
  forCaller,
  isProgrammatic,
  type OfferedForms,
  type RequestedCall,
  type RunRules,
  runCalls,
  type SuspendedOutcome,
} from "./run-calls.js";
import { resumeTool, type ToolSource } from "./tool-source.js";

/** A call of a model that waits for a person. */
export type PendingCall = Suspended & {
  /** The call as the model requested it; `call.id` is the id of the provider. */
  readonly call: RequestedCall;
  /** The place of its result among the results of all calls of the response. */
  readonly index: number;
};

/** The outcome of a run with `suspend`. Plain JSON: save it until the user has answered. */
export interface SuspendedRun<Message> {
  /** The results of the calls that are over. A provider accepts them only when `pending` is empty. */
  readonly messages: Message[];
  /** The calls that wait for a person, in the order of the calls. */
  readonly pending: PendingCall[];
}

/** An answer that could not be used. */
export interface ResumeFailure {
  readonly token: string;
  readonly error: unknown;
}

/** The outcome of a resumed run. If calls still wait, resume it again. */
export interface ResumedRun<Message> extends SuspendedRun<Message> {
  /** Calls that still wait because their answer was not accepted, or because their server could not be reached. */
  readonly errors: ResumeFailure[];
}

/** What the user decided, by the token of the call. */
export type ResumeAnswers = Readonly<Record<string, ResumeInput>>;

/** How a provider represents results: one item for each call, and content that follows all of them. */
export interface RunFormat<Message, Result, Beside> {
  convert(outcome: CallOutcome): { result: Result; beside: Beside[] };
  join(results: readonly Result[], beside: readonly Beside[]): Message[];
  split(messages: readonly Message[]): { results: Result[]; beside: Beside[] };
}

/** Runs the calls of a model. Returns the messages, and with `suspend` also the calls that wait. */
export async function runAndFormat<Message, Result, Beside>(
  toolport: ToolSource,
  calls: readonly RequestedCall[],
  options: AnyRunOptions & RunRules,
  format: RunFormat<Message, Result, Beside>,
): Promise<Message[] | SuspendedRun<Message>> {
  const run = toSuspendedRun(await runCalls(toolport, calls, options), format);
  return options.suspend ? run : run.messages;
}

/** Separates the calls that wait from the others. */
function toSuspendedRun<Message, Result, Beside>(
  outcomes: readonly (CallOutcome | SuspendedOutcome)[],
  format: RunFormat<Message, Result, Beside>,
): SuspendedRun<Message> {
  const pending = outcomes.flatMap((outcome, index): PendingCall[] =>
    "suspended" in outcome ? [{ ...outcome.suspended, call: outcome.call, index }] : [],
  );
  const over = outcomes.filter((outcome): outcome is CallOutcome => !("suspended" in outcome));
  const converted = over.map((outcome) => format.convert(outcome));
  const messages = format.join(
    converted.map(({ result }) => result),
    converted.flatMap(({ beside }) => beside),
  );
  return { messages, pending };
}

/** Continues the calls that have an answer, and inserts their results at the place of the calls. */
export async function resumeRun<Message, Result, Beside>(
  toolport: ToolSource,
  { messages, pending }: SuspendedRun<Message>,
  {
    answers,
    options,
    offered,
    format,
  }: {
    answers: ResumeAnswers;
    options: ResumeOptions & WithForModel & { audience?: AudienceRule | undefined };
    /** The tools that the model was offered; undefined if the program does not pass them. */
    offered: OfferedForms | undefined;
    format: RunFormat<Message, Result, Beside>;
  },
): Promise<ResumedRun<Message>> {
  const { results, beside } = format.split(messages);
  const waiting: PendingCall[] = [];
  const errors: ResumeFailure[] = [];
  const calls = [...pending].sort((a, b) => a.index - b.index);
  const resume = resumeOptions(options);
  const fitParts = createFitter(toolport, options.forModel, offered?.has(READ_ARTIFACT_NAME) ?? true);
  const outcomes = await Promise.all(
    calls.map(({ token }) =>
      Object.hasOwn(answers, token)
        ? resumeCall(toolport, { token, answer: answers[token], options: resume })
        : undefined,
    ),
  );
  for (const [place, { call, index, ...suspended }] of calls.entries()) {
    const outcome = outcomes[place];
    const { token, server, tool } = suspended;
    if (outcome === undefined || "error" in outcome) {
      waiting.push(calls[place]!);
      if (outcome !== undefined) errors.push({ token, error: outcome.error });
      continue;
    }
    if ("next" in outcome) {
      waiting.push({ ...outcome.next, call, index });
      continue;
    }
    const facts = { tool: calledTool(call.name, call.args), server };
    const partsOf = (result: ToolResult) => {
      const parts = resultParts(forCaller(call, result), options.audience);
      return isProgrammatic(call) ? parts : fitParts(parts, { ...facts, result });
    };
    const answer: Pick<CallOutcome, "parts" | "isError"> =
      "note" in outcome
        ? { parts: [textPart(outcome.note)], isError: true }
        : { parts: partsOf(outcome.result), isError: outcome.result.isError };
    const converted = format.convert({ call, server, tool, ...answer });
    results.splice(index - waiting.length, 0, converted.result);
    beside.push(...converted.beside);
  }
  return { messages: format.join(results, beside), pending: waiting, errors };
}

/**
 * `next`: the call waits again. `note`: the call is over without a result, and this is what the model reads. `error`: the call still
 * waits with the same token.
 */
export type ResumeOutcome =
  | { readonly result: ToolResult }
  | { readonly next: Suspended }
  | { readonly note: string }
  | { readonly error: unknown };

/** Codes of errors after which the token is gone. */
const OVER = ["SUSPENSION_UNKNOWN", "REFUSED", "PROTOCOL", "INVALID_OUTPUT", "TASK_LOST", "TASK_CANCELLED"];

const GONE =
  "The call no longer waits: it was continued before, so it may have run, or it has expired. Ask the user before you call the tool again.";

/** Never rejects, so that one wrong answer does not cost the results of other calls. */
export async function resumeCall(
  toolport: ToolSource,
  { token, answer, options }: { token: string; answer: ResumeInput | undefined; options: ResumeOptions },
): Promise<ResumeOutcome> {
  try {
    const result = await resumeTool(toolport, token, answer, options);
    return isSuspended(result) ? { next: result } : { result };
  } catch (error) {
    if (!ToolportError.isInstance(error) || !OVER.includes(error.code)) return { error };
    return { note: error.code === "SUSPENSION_UNKNOWN" ? GONE : error.message };
  }
}

/** The options of `resume()` among those of an adapter. */
export const resumeOptions = ({ signal, timeoutMs, onProgress, context }: ResumeOptions): ResumeOptions =>
  Object.fromEntries(
    Object.entries({ signal, timeoutMs, onProgress, context }).filter(([, value]) => value !== undefined),
  );
