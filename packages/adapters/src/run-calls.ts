/** Runs the calls that a model requested, in parallel. Every call gets a result; mistakes of the model are reported to the model. */

import {
  CatalogError,
  definedFields,
  isForModel,
  isRecord,
  READ_ARTIFACT_NAME,
  SuspensionError,
  sha256,
  ToolCallError,
  type ToolInfo,
  ToolportError,
} from "@toolport/base";
import {
  type CallToolOptions,
  type ContentPart,
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
  type ToolResult,
} from "@toolport/core";
import { readSearchArguments } from "@toolport/core/internal";
import type { SchemaTarget } from "@toolport/schemas";
import { derivedSchemaOf } from "@toolport/schemas/internal";
import { calledTool, createFitter, type PartFitter, type WithForModel, withReader } from "./for-model.js";
import { type AudienceRule, type ContentOptions, resultParts, textPart } from "./model-content.js";
import { selectedTools, type ToolSelection } from "./offered-tools.js";
import { resumeTool, type SuspendOptions, type ToolSource } from "./tool-source.js";

/** Key in `_meta` with the id that the provider of the model gave to the call. */
const TOOL_CALL_ID_META_KEY = "toolport/tool-call-id";

/** The option of all functions that run or continue the calls of a model. */
export interface WithOfferedTools {
  /**
   * The tools of the request that the model answers. Its arguments are read in the form that these tools show, and texts that do not fit
   * refer to `read_artifact` only if it is among them. The list may contain other tools and may be a copy. Without it, arguments are read
   * against the schema of the server and repaired.
   * @default none
   * @example
   * ```ts
   * const tools = await toOpenAITools(toolport, { strict: true });
   * const completion = await openai.chat.completions.create({ model, messages, tools });
   * await runOpenAIToolCalls(toolport, completion.choices[0].message, { tools });
   * ```
   */
  readonly tools?: readonly object[] | undefined;
}

/** Options for running the calls of a model. The options that were used for the tools may be passed here too. */
export interface RunToolCallsOptions
  extends ToolSelection,
    ContentOptions,
    CallToolOptions,
    WithForModel,
    WithOfferedTools {
  /**
   * Called for every call that could not be made; the model gets the error as well. An error thrown here ends the run, for
   * instance when a server requires authorization.
   */
  readonly onError?: ((error: ToolportError, call: RequestedCall) => void) | undefined;
  /**
   * Calls of tools that were not offered: `"answer"` reports an error to the model; `"skip"` ignores them, for programs that
   * also have their own tools and run those themselves.
   * @default "answer"
   */
  readonly unknownTools?: "answer" | "skip" | undefined;
}

/** A call that the model requested. */
export interface RequestedCall {
  readonly id: string | undefined;
  readonly name: string;
  /** An object, or JSON text of one. */
  readonly args: unknown;
  /**
   * Who called, if the provider says so: the model, or a program that it wrote.
   * @default undefined: the model
   */
  readonly caller?: CallerOfCall | undefined;
}

/** The caller in the format of the provider: `type` is `"direct"` for the model itself. */
export interface CallerOfCall {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** True if a program of the model made the call and reads its result. */
export const isProgrammatic = ({ caller }: RequestedCall): boolean =>
  caller !== undefined && caller.type !== "direct";

/** How the calls of a model are suspended. */
export interface SuspendCallsOptions extends Omit<SuspendOptions, "key" | "create"> {
  /**
   * Your own name of the model's response. Together with the id of a call it names the call, so that running the same response again, in any
   * process, sends nothing twice and returns the saved results. Some models repeat the ids of their calls: use a name that no
   * other response of the user has. Throws `NOT_OFFERED` if a call has no id.
   * @default none: every run sends its calls
   * @example
   * ```ts
   * await runOpenAIToolCalls(toolport, message, { suspend: { key: `${conversationId}/${completion.id}` } });
   * ```
   */
  readonly key?: string | undefined;
}

/** Adds `suspend` to the options of a run. */
export type WithSuspend<Options> = Omit<Options, "suspend"> & {
  /** Save calls that have to wait for a person, and return them as `pending`. */
  readonly suspend: true | SuspendCallsOptions;
};

export interface CallOutcome {
  readonly call: RequestedCall;
  readonly parts: readonly ContentPart[];
  readonly isError: boolean;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  /** The tools that a search of the provider found; `parts` is empty then. */
  readonly found?: readonly ToolInfo[] | undefined;
}

/** With `suspended`, the call waits for a person. */
type AnyOutcome = CallOutcome | { readonly call: RequestedCall; readonly suspended: Suspended };

/** What an adapter knows about the calls of its provider. */
interface RunRules {
  /** The form of the schema of each offered tool, by name; undefined if the program does not pass its tools. */
  readonly offered?: OfferedForms | undefined;
  /** The form of all other tools. Undefined: that of the server. */
  readonly otherForm?: SchemaTarget | undefined;
  /** True for a call that searches deferred tools. Such a call is no tool call: it never waits for a person. */
  readonly isSearch?: ((call: RequestedCall) => boolean) | undefined;
}

export type OfferedForms = ReadonlyMap<string, SchemaTarget>;

/** Results are in the order of the calls. Throws only on abort, and what `onError` throws. */
async function runCalls(
  toolport: ToolSource,
  calls: readonly RequestedCall[],
  options: AnyRunOptions & RunRules,
): Promise<AnyOutcome[]> {
  if (calls.length === 0) return [];
  const { servers, only, except, filter, isSearch = () => false } = options;
  const listed = await selectedTools(toolport, options);
  const callable = withReader(toolport, listed, options);
  const byName = new Map(callable.map((tool) => [tool.name, tool]));
  const canRead = (options.offered ?? byName).has(READ_ARTIFACT_NAME);
  const fitParts = createFitter(toolport, options.forModel, canRead);
  // A provider's search makes deferred tools callable by their own names.
  if (calls.some((call) => !byName.has(call.name) && !isSearch(call)))
    for (const tool of await selectedTools(toolport, options, true)) byName.set(tool.name, tool);
  const isOpen = [servers, only, except, filter].every((rule) => rule === undefined);
  const isKnown = (call: RequestedCall) => byName.has(call.name) || isSearch(call);
  const wanted = options.unknownTools === "skip" ? calls.filter(isKnown) : calls;
  const suspends = await suspendOptions(wanted, options.suspend);
  const context: CallContext = { toolport, byName, isOpen, isSearch, options, fitParts };
  // Wait for all calls before one failure ends the run, so that none continues in the background.
  const running = wanted.map((call, index) => answerCall(call, context, suspends?.[index]));
  await Promise.allSettled(running);
  return Promise.all(running);
}

/** Options of a run, with or without `suspend`. */
type AnyRunOptions = RunToolCallsOptions | WithSuspend<RunToolCallsOptions>;

/** The option `suspend` for each of the calls; throws before anything is sent. */
async function suspendOptions(
  calls: readonly RequestedCall[],
  suspend: AnyRunOptions["suspend"],
): Promise<SuspendOptions[] | undefined> {
  if (!suspend) return undefined;
  const { key, ...limits }: SuspendCallsOptions = suspend === true ? {} : suspend;
  if (key === undefined) return calls.map(() => limits);
  const uses = new Map<string, number>();
  return Promise.all(
    calls.map(async ({ id, name }) => {
      if (id === undefined || id === "")
        throw new SuspensionError({
          code: "NOT_OFFERED",
          tool: name,
          what: "The model gave its call no id, so that suspend.key cannot name the call",
          next: "Use suspend: true, which needs no ids",
          outcome: "unsent",
        });
      // A response may contain the same id twice.
      const use = uses.get(id) ?? 0;
      uses.set(id, use + 1);
      return { ...limits, key: `call ${await sha256(JSON.stringify([key, id, use]))}` };
    }),
  );
}

interface CallContext {
  readonly toolport: ToolSource;
  readonly byName: ReadonlyMap<string, ToolInfo>;
  /** All tools were offered, so a name that is not listed may come from a search. */
  readonly isOpen: boolean;
  readonly isSearch: (call: RequestedCall) => boolean;
  readonly options: AnyRunOptions & RunRules;
  readonly fitParts: PartFitter;
}

async function answerCall(
  call: RequestedCall,
  context: CallContext,
  suspend: SuspendOptions | undefined,
): Promise<AnyOutcome> {
  const { toolport, byName, isOpen, isSearch, options, fitParts } = context;
  const tool = byName.get(call.name);
  try {
    if (isSearch(call)) return await answerSearch(call, context);
    if (tool === undefined && !(isOpen && (await isCallable(toolport, call.name))))
      throw new CatalogError({
        code: "TOOL_NOT_FOUND",
        tool: call.name,
        what: `There is no tool named ${JSON.stringify(call.name)}`,
        next: byName.size > 0 ? `Use one of: ${[...byName.keys()].slice(0, 20).join(", ")}` : undefined,
      });
    const input = readArguments(call, tool);
    const form = options.offered?.get(call.name) ?? options.otherForm;
    const args = tool && form ? derivedSchemaOf(tool, form).unwrap(input) : input;
    const sent = toCallOptions(options, call.id);
    const result =
      suspend === undefined
        ? await toolport.callTool(call.name, args, sent)
        : await toolport.callTool(call.name, args, { ...sent, suspend });
    if (isSuspended(result)) return { call, suspended: result };
    const { server, isError } = result;
    const parts = partsFor(call, result, { server, args, fitParts, options });
    return { call, parts, isError, server, tool: tool?.sourceName };
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    options.onError?.(error, call);
    const { server, tool: name } = error;
    return { call, parts: [textPart(error.message)], isError: true, server, tool: name };
  }
}

/** Finds deferred tools of the selection, best first. A tool that the query names exactly is never cut off. */
async function answerSearch(call: RequestedCall, { toolport, options }: CallContext): Promise<CallOutcome> {
  const tools = await selectedTools(toolport, options, true);
  const args = readArguments(call, undefined);
  const found = await searchAmong(toolport, args, { tools, signal: options.signal });
  return { call, parts: [], isError: false, found };
}

interface ResultUse {
  readonly server: string;
  readonly args: unknown;
  readonly fitParts: PartFitter;
  readonly options: Pick<ContentOptions, "audience">;
}

/** What the caller gets of a result. Only what reaches the context of the model has to fit. */
function partsFor(
  call: RequestedCall,
  result: ToolResult,
  { server, args, fitParts, options: { audience } }: ResultUse,
): readonly ContentPart[] {
  if (!isProgrammatic(call))
    return fitParts(resultParts(result, audience), { tool: calledTool(call.name, args), server, result });
  // A program parses the result by the output schema of the tool, so it gets the structured content only.
  const isParsed = result.structuredContent !== undefined && !result.isError;
  return resultParts(isParsed ? { ...result, content: [] } : result, audience);
}

/** A model must not call a tool that is only for user interfaces. */
async function isCallable(toolport: ToolSource, name: string): Promise<boolean> {
  const info = (await toolport.tools({ all: true })).find((tool) => tool.name === name);
  return info === undefined || isForModel(info);
}

/** The options of a call among those of an adapter. */
export function toCallOptions(
  options: Omit<CallToolOptions, "suspend">,
  id: string | undefined,
): CallToolOptions {
  const { signal, timeoutMs, onProgress, idempotent, headers, context } = options;
  const { applyDefaults, checkArguments, added } = options;
  const meta = id === undefined ? options.meta : { [TOOL_CALL_ID_META_KEY]: id, ...options.meta };
  const sent = { signal, timeoutMs, onProgress, idempotent, headers, meta, context };
  return definedFields({ ...sent, applyDefaults, checkArguments, added });
}

/** Throws `INVALID_ARGUMENTS` if they are not an object. */
function readArguments({ name, args }: RequestedCall, tool: ToolInfo | undefined): Record<string, unknown> {
  let value: unknown = args ?? {};
  let problem = "are not a JSON object";
  if (typeof value === "string") {
    try {
      value = value.trim() === "" ? {} : JSON.parse(value);
    } catch (error) {
      value = undefined;
      problem = `are not valid JSON: ${(error as Error).message}`;
    }
  }
  if (isRecord(value)) return value;
  throw new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server: tool?.server,
    tool: tool?.sourceName ?? name,
    what: `Nothing was sent: the arguments ${problem}`,
    next: "Correct them and call again",
    outcome: "unsent",
    issues: [{ path: "$", message: problem }],
  });
}

/** Finds some of these tools, best first. */
export async function searchAmong(
  toolport: ToolSource,
  args: Readonly<Record<string, unknown>>,
  { tools, signal }: { readonly tools: Iterable<ToolInfo>; readonly signal?: AbortSignal | undefined },
): Promise<ToolInfo[]> {
  if (toolport.searchTools === undefined) return [];
  const { query, limit } = readSearchArguments(args);
  const hidden = new Map([...tools].map((tool) => [tool.name, tool]));
  const wait = signal && { signal };
  // Filters apply after the search, so a limit would count tools that are left out.
  const ranked = await toolport.searchTools(query, { limit: Number.MAX_SAFE_INTEGER, ...wait });
  const { length } = await toolport.searchTools(query, { limit, ...wait });
  return ranked.flatMap(({ name }) => hidden.get(name) ?? []).slice(0, Math.max(limit, length));
}

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

/** How results are converted, and the options of `resume()`. */
export type ResumeRunOptions<ContentRules> = Omit<ContentRules, "strictContent"> &
  ResumeOptions &
  WithForModel &
  WithOfferedTools;

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
  const pending: PendingCall[] = [];
  const results: Result[] = [];
  const besides: Beside[] = [];
  for (const [index, outcome] of (await runCalls(toolport, calls, options)).entries()) {
    if ("suspended" in outcome) {
      pending.push({ ...outcome.suspended, call: outcome.call, index });
      continue;
    }
    const { result, beside } = format.convert(outcome);
    results.push(result);
    besides.push(...beside);
  }
  const messages = format.join(results, besides);
  return options.suspend ? { messages, pending } : messages;
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
  const fitParts = createFitter(toolport, options.forModel, offered?.has(READ_ARTIFACT_NAME) ?? true);
  const outcomes = await Promise.all(
    calls.map(({ token }) =>
      Object.hasOwn(answers, token)
        ? resumeCall(toolport, { token, answer: answers[token], options: resumeOptions(options) })
        : undefined,
    ),
  );
  for (const [place, pendingCall] of calls.entries()) {
    const outcome = outcomes[place];
    const { call, index, token, server, tool } = pendingCall;
    if (outcome === undefined || "error" in outcome) {
      waiting.push(pendingCall);
      if (outcome !== undefined) errors.push({ token, error: outcome.error });
      continue;
    }
    if ("next" in outcome) {
      waiting.push({ ...outcome.next, call, index });
      continue;
    }
    const answer =
      "note" in outcome
        ? { parts: [textPart(outcome.note)], isError: true }
        : {
            parts: partsFor(call, outcome.result, { server, args: call.args, fitParts, options }),
            isError: outcome.result.isError,
          };
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
  definedFields({ signal, timeoutMs, onProgress, context });
