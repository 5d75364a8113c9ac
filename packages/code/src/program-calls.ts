/** The calls of one program: makes them through the port of the user, within limits, records the outcome of each, and gives the program a value or an error. */

import { parseJson, type ToolInfo, ToolportError, toRecord } from "@toolport/base";
import {
  type CallToolOptions,
  isSuspended,
  type Suspended,
  type ToolResult,
  toContentParts,
} from "@toolport/core";
import { partNote } from "@toolport/core/internal";
import type { ProgramAnswer, ProgramCall } from "./code-executor.js";
import type { CodeCall } from "./code-mode.js";

/** Code of the error for a call beyond the limit. */
export const CALL_LIMIT = "CALL_LIMIT";
/** Code of a call that was running, or waiting for its turn, when the program ended. */
const UNFINISHED = "UNFINISHED";

export interface ProgramCallsPlan {
  readonly limits: { readonly calls: number; readonly parallel: number };
  /** Options of every call; the signal ends all of them. */
  readonly options: Pick<CallToolOptions, "context" | "headers">;
  /** Keeps a text where `read_artifact` finds it, and returns its id; undefined if it is not kept. */
  keepText(
    text: string,
    facts: { readonly server: string; readonly tool: string; readonly mimeType?: string | undefined },
  ): string | undefined;
  toolOf(server: string, tool: string): ToolInfo | undefined;
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
    id: number,
  ): Promise<ToolResult | Suspended>;
  /** May resolve when the program has taken the answer. */
  answer(id: number, answer: ProgramAnswer): void | Promise<void>;
  /** A call is over. */
  onFinished(call: CodeCall): void;
  /** A call waits for a person: it has no answer until then. */
  onSuspended(): void;
}

/** Code of a call that waits for a person. */
const SUSPENDED = "SUSPENDED";

/** A call of which no answer was given to the program. */
export interface SuspendedProgramCall {
  readonly id: number;
  /** Public name of the tool. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly suspended: Suspended;
}

type CallRecord = { -readonly [Key in keyof CodeCall]: CodeCall[Key] };

/** Without the text of the arguments, which would double the memory of a call. */
interface WaitingCall {
  readonly id: number;
  readonly tool: ToolInfo;
  readonly args: Readonly<Record<string, unknown>>;
  readonly record: CallRecord;
}

export class ProgramCalls {
  readonly #records: CallRecord[] = [];
  readonly #abort = new AbortController();
  readonly #waiting: WaitingCall[] = [];
  readonly #suspended = new Map<number, SuspendedProgramCall>();
  #running = 0;

  /** @param earlier what is known about the calls before the program was suspended */
  constructor(
    readonly plan: ProgramCallsPlan,
    earlier: readonly CodeCall[] = [],
  ) {
    this.#records.push(...earlier.map((record) => ({ ...record })));
  }

  /** The calls that wait for a person, in their order. */
  get suspended(): readonly SuspendedProgramCall[] {
    return [...this.#suspended.values()].sort((a, b) => a.id - b.id);
  }

  /** True if the program can do nothing before a person decides: all of these calls are suspended. */
  areSuspended(ids: readonly number[]): boolean {
    return ids.length > 0 && ids.every((id) => this.#suspended.has(id));
  }

  /** Makes a call again that was suspended before. Its number is its place in the records. */
  continue({
    id,
    tool,
    args,
  }: Pick<SuspendedProgramCall, "id" | "args"> & { tool: ToolInfo | undefined }): void {
    const record = this.#records[id - 1]!;
    if (tool === undefined)
      return this.#refuse(id, record, toError("TOOL_NOT_FOUND", `There is no tool ${record.tool} any more.`));
    record.code = UNFINISHED;
    this.#waiting.push({ id, tool, args, record });
    this.#startWaiting();
  }

  /** What is known about each call, in the order of their start. */
  get records(): readonly CodeCall[] {
    return this.#records.map((record) => ({ ...record }));
  }

  /** Public names of the tools whose calls are not over. */
  get unfinished(): readonly string[] {
    return this.#records.filter(({ code }) => code === UNFINISHED).map(({ tool }) => tool);
  }

  start(call: ProgramCall): void {
    const tool = this.plan.toolOf(call.server, call.tool);
    const name = tool?.name ?? `${call.server}.${call.tool}`;
    const { calls } = this.plan.limits;
    if (this.#records.length >= calls)
      return void this.plan.answer(call.id, toError(CALL_LIMIT, `A program may make ${calls} calls.`));
    // Unsent until its turn, unknown until it is over.
    const record: CallRecord = { tool: name, ok: false, outcome: "unsent", code: UNFINISHED, durationMs: 0 };
    this.#records.push(record);
    if (tool === undefined)
      return this.#refuse(call.id, record, toError("TOOL_NOT_FOUND", `There is no tool ${name}.`));
    const args = readArguments(call.args);
    if (args === undefined) {
      const message = `${name} takes one object with its arguments.`;
      return this.#refuse(call.id, record, toError("INVALID_ARGUMENTS", message));
    }
    this.#waiting.push({ id: call.id, tool, args, record });
    this.#startWaiting();
  }

  /** Cancels what is still running, at the servers too. */
  cancel(reason: unknown): void {
    this.#waiting.length = 0;
    this.#abort.abort(reason);
  }

  #refuse(id: number, record: CallRecord, answer: ProgramAnswer): void {
    if ("error" in answer) record.code = answer.error.code;
    void this.plan.answer(id, answer);
    this.plan.onFinished({ ...record });
  }

  #startWaiting(): void {
    while (this.#running < this.plan.limits.parallel && this.#waiting.length > 0)
      void this.#run(this.#waiting.shift()!);
  }

  /** Results are not fetched before the program can take them. */
  async #run(call: WaitingCall): Promise<void> {
    this.#running += 1;
    await this.#callAndAnswer(call);
    this.#running -= 1;
    this.#startWaiting();
  }

  /** Resolves when the program has taken the answer. Keeps no result until then. */
  async #callAndAnswer({ id, tool, args, record }: WaitingCall): Promise<void> {
    const { options, keepText } = this.plan;
    const { signal } = this.#abort;
    const startedAt = performance.now();
    record.outcome = "unknown";
    let answer: ProgramAnswer;
    let outcome: CodeCall["outcome"];
    try {
      const result = await this.plan.call(tool.name, args, { ...options, signal }, id);
      if (isSuspended(result)) {
        record.code = SUSPENDED;
        record.outcome = "unsent";
        this.#suspended.set(id, { id, tool: tool.name, args, suspended: result });
        if (!signal.aborted) this.plan.onSuspended();
        return;
      }
      answer = toAnswer(result, tool, keepText);
    } catch (error) {
      answer = toThrown(error);
      outcome = ToolportError.isInstance(error) ? error.outcome : "unknown";
    }
    record.durationMs = performance.now() - startedAt;
    // The program is over: the call stays unfinished.
    if (signal.aborted) return;
    record.ok = !("error" in answer);
    record.code = "error" in answer ? answer.error.code : undefined;
    record.outcome = record.code === TOOL_FAILED ? undefined : outcome;
    const taken = this.plan.answer(id, answer);
    this.plan.onFinished({ ...record });
    return taken;
  }
}

/** Undefined if the text is not one object. */
function readArguments(json: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (json === undefined) return {};
  return toRecord(JSON.parse(json));
}

/** Code of the error for a tool that reports failure. */
const TOOL_FAILED = "TOOL_ERROR";

/** Structured content if there is any, else the text. Images and files stay at the host; the program gets a note. */
function toAnswer(result: ToolResult, tool: ToolInfo, keepText: ProgramCallsPlan["keepText"]): ProgramAnswer {
  if (result.isError) {
    const message = textOf(result, tool, keepText) || "The tool reports a failure without a message.";
    return toError(TOOL_FAILED, message);
  }
  if (result.structuredContent !== undefined) return { value: JSON.stringify(result.structuredContent) };
  const text = textOf(result, tool, keepText);
  // A tool with an output schema promises JSON, even if it sends it as text.
  return {
    value: tool.outputSchema !== undefined && parseJson(text) !== undefined ? text : JSON.stringify(text),
  };
}

function textOf(
  { content }: ToolResult,
  { server, sourceName }: ToolInfo,
  keepText: ProgramCallsPlan["keepText"],
): string {
  return toContentParts(content)
    .map((part) => {
      const note = partNote(part);
      if (!("data" in part)) return note;
      const id = keepText(part.data, { server, tool: sourceName, mimeType: part.mimeType });
      return id === undefined ? note : `${note} (artifact ${id})`;
    })
    .join("\n");
}

const toError = (code: string, message: string): ProgramAnswer => ({
  error: { name: "ToolError", code, message },
});

/** Errors of Toolport are written for users. Other errors may contain anything of the host. */
const toThrown = (error: unknown): ProgramAnswer =>
  ToolportError.isInstance(error)
    ? toError(error.code, error.message)
    : toError("CALL_FAILED", "The call failed at the host.");
