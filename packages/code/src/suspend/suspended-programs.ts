/**
 * Programs that wait for a person: saves the image of the machine that runs them, sealed and for one user, and continues it in any
 * process with the same store.
 *
 * Every call of such a program has a key, so that its result is saved. A program that is continued twice, because a process died in
 * between, gets the saved results: no call is made twice. See docs/decisions/code-mode.md.
 */
import {
  CatalogError,
  canonicalJson,
  fromBase64,
  isRecord,
  SuspensionError,
  sha256,
  type ToolInfo,
  ToolportError,
  throwUnsent,
  toBase64,
} from "@toolport/base";
import {
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type SuspendCallOptions,
  type Suspended,
  type Toolport,
  type ToolResult,
} from "@toolport/core";
import { portOf, readSuspendOption } from "@toolport/core/internal";
import {
  type HeldRecord,
  isAbandoned,
  type LeasedRecord,
  type Store,
  TokenRecords,
  userPrefix,
  type VersionedRecord,
} from "@toolport/stores";
import type { CodeExecutor } from "../code-executor.js";
import type { CodeCall, CodeOutcome, CodeSuspended, CodeTools, ExecuteOptions } from "../code-mode.js";
import type { ProgramApi } from "../program-api.js";
import {
  notOffered,
  type PausedProgram,
  type PendingCall,
  type RunLimits,
  type RunPlan,
} from "../run-program.js";

/** How the calls of a program are suspended. */
type SuspendSettings = Exclude<SuspendCallOptions["suspend"], true>;

/** A tool of the program: its public name, and the hash of the definition that the program was written for. */
interface SavedTool {
  readonly name: string;
  readonly hash: string;
}

interface ProgramRecord extends LeasedRecord {
  readonly format: 1;
  /** `waiting` for a person, or `running` until `leaseUntil`. A process that dies leaves it running: the image can be continued again. */
  readonly state: "waiting" | "running";
  readonly token: string;
  /** What the person is asked, without the token of the call itself. */
  readonly waitsFor: Omit<Suspended, "token">;
  /** Random text, or the hash of the caller's key. The keys of all calls of the program begin with it. */
  readonly run: string;
  /** Hash of the caller's key, if there is one. */
  readonly key?: string | undefined;
  readonly source: string;
  /** The image, as base64. */
  readonly image: string;
  /** Version of the executor that made the image. */
  readonly executor: string;
  /** Tools by the names of server and function in the program. */
  readonly tools: Readonly<Record<string, Readonly<Record<string, SavedTool>>>>;
  /** The calls that have not been answered. The person is asked about the first one. */
  readonly pending: readonly PendingCall[];
  readonly calls: readonly CodeCall[];
  readonly logs: readonly string[];
  readonly limits: RunLimits;
  readonly cpuMs: number;
  /** Time that the program ran, sleep excluded. */
  readonly timeMs: number;
  readonly ttlMs: number;
  /** What the calls may wait for; undefined: anything. */
  readonly reasons?: SuspendSettings["reasons"];
}

/** What is known about a program with a key: the token of its record, or its outcome. */
interface ProgramPointer {
  readonly format: 1;
  readonly source: string;
  readonly token?: string | undefined;
  /** The outcome as JSON. */
  readonly outcome?: string | undefined;
}

const isProgramPointer = (value: unknown): value is ProgramPointer =>
  isRecord(value) && value["format"] === 1 && typeof value["source"] === "string" && !("image" in value);

const isProgramRecord = (value: unknown): value is ProgramRecord =>
  isRecord(value) &&
  value["format"] === 1 &&
  typeof value["image"] === "string" &&
  typeof value["token"] === "string" &&
  isRecord(value["tools"]) &&
  Array.isArray(value["pending"]);

/** What the caller gets. */
export const toSuspendedProgram = (record: ProgramRecord): CodeSuspended => {
  const { waitsFor, token, logs, calls, cpuMs } = record;
  const expiresAt = new Date(record.expiresAt).toISOString();
  return { ...waitsFor, token, logs, calls, cpuMs, expiresAt } as CodeSuspended;
};

export class ProgramRecords extends TokenRecords<ProgramRecord> {
  constructor({ store, principal }: { readonly store: Store; readonly principal: string | undefined }) {
    super(store, userPrefix("programs", principal), {
      tokenPrefix: "tpp1.",
      isRecord: isProgramRecord,
      noun: "suspended program",
      again: "Run the program again",
    });
  }

  /** Marks a program as running; undefined if another process was faster. */
  run({
    key,
    version,
    record,
  }: VersionedRecord<ProgramRecord>): Promise<HeldRecord<ProgramRecord> | undefined> {
    return this.hold(key, version, { ...record, state: "running" });
  }

  /** Saves a waiting program under its token. */
  async save(record: ProgramRecord): Promise<void> {
    await this.put(await this.keyOfToken(record.token), record, 0);
  }

  /** @param key hash of the caller's key */
  async pointer(key: string): Promise<ProgramPointer | undefined> {
    const value = (await this.get(this.#keyOf(key)))?.value;
    if (value !== undefined && !isProgramPointer(value)) throw this.corrupt();
    return value;
  }

  async point(key: string, pointer: ProgramPointer, ttlMs: number): Promise<void> {
    await this.store.put(this.#keyOf(key), pointer, { secret: true, ttlMs });
  }

  #keyOf(key: string): string {
    return `${this.prefix}key-${key}`;
  }
}

/** The parts of a code mode that suspended programs need. */
interface SuspendedProgramsParts {
  readonly toolport: CodeTools;
  readonly executor: CodeExecutor;
  readonly api: ProgramApi;
  run(
    plan: Pick<RunPlan, "source" | "limits" | "options" | "api" | "call" | "earlier">,
  ): Promise<CodeOutcome | PausedProgram>;
  /** Runs an action in the span of the program. */
  inSpan(action: () => Promise<CodeOutcome | PausedProgram>): Promise<CodeOutcome | PausedProgram>;
}

/** A program, as long as it runs in this process. A new one has no `tools`: it has those of the catalog. */
interface LiveProgram
  extends Pick<ProgramRecord, "source" | "run" | "key" | "limits" | "ttlMs" | "reasons">,
    Partial<Pick<ProgramRecord, "tools">>,
    Pick<SuspendSettings, "requireDurable"> {}

export class SuspendedPrograms {
  readonly #records: ProgramRecords;
  readonly #resume: Toolport["resume"];
  readonly #forgetCalls: (keys: readonly string[]) => Promise<void>;

  constructor(readonly parts: SuspendedProgramsParts) {
    const state = portOf(parts.toolport)?.state;
    const { resume } = parts.toolport;
    if (state === undefined || resume === undefined)
      throw notOffered("The object with the tools is not of createToolport");
    this.#resume = resume;
    this.#records = new ProgramRecords(state);
    this.#forgetCalls = state.forgetCalls;
  }

  /** Runs a new program. With a key, an earlier run with the same key is found instead. */
  async execute(
    source: string,
    { limits, options }: { limits: RunLimits; options: ExecuteOptions },
  ): Promise<CodeOutcome> {
    const wish = readSuspendOption(options.suspend as true | SuspendSettings, { tool: "execute" });
    const key = wish.key === undefined ? undefined : await sha256(wish.key);
    if (key !== undefined) {
      const earlier = await this.#known(key, source, options.signal);
      if (earlier !== undefined) return earlier;
      if (!wish.create) throw suspensionError("unknownProgram");
      await this.#records.point(key, { format: 1, source }, wish.ttlMs).catch(throwUnsent);
    }
    const program = { ...wish, source, limits, key, run: key ?? globalThis.crypto.randomUUID() };
    const { api, inSpan, run } = this.parts;
    const outcome = await inSpan(() => run({ source, limits, options, api, call: this.#caller(program) }));
    return this.#finish(program, outcome);
  }

  /** Continues a program with the decision of a person. */
  async resume(token: string, input: ResumeInput, options: ResumeOptions): Promise<CodeOutcome> {
    for (;;) {
      const entry = await this.#records.find(token).catch(throwUnsent);
      if (entry === undefined) throw suspensionError("unknownProgram");
      if (entry.record.executor !== (this.parts.executor.version ?? "")) throw suspensionError("otherEngine");
      if (entry.record.state === "running" && !(await this.#isAbandoned(entry, options.signal))) continue;
      const lease = await this.#records.run(entry).catch(throwUnsent);
      if (lease !== undefined) return this.#continue(lease, input, options);
    }
  }

  async list(): Promise<CodeSuspended[]> {
    return (await this.#records.waiting(() => {}).catch(throwUnsent)).map(toSuspendedProgram);
  }

  async #continue(
    held: HeldRecord<ProgramRecord>,
    input: ResumeInput,
    options: ResumeOptions,
  ): Promise<CodeOutcome> {
    const { record } = held;
    const program = { ...record, requireDurable: false };
    try {
      const outcome = await this.parts.inSpan(() => this.#decide(program, { record, input, options }));
      return await this.#finish(program, outcome, held);
    } catch (error) {
      // The image is as it was, and calls that were made have their results saved: the same token works again.
      await held.replace({ ...record, state: "waiting" }).catch(() => {});
      throw error;
    } finally {
      held.stop();
    }
  }

  /** Answers the first call that waits, and continues the program unless that call waits again. */
  async #decide(
    program: LiveProgram,
    { record, input, options }: { record: ProgramRecord; input: ResumeInput; options: ResumeOptions },
  ): Promise<CodeOutcome | PausedProgram> {
    const { source, limits, tools } = record;
    const [first, ...others] = record.pending as [PendingCall, ...PendingCall[]];
    const earlier = { ...record, image: fromBase64(record.image)! };
    const answer = await this.#answerFirst(first, { program, input, options });
    if (answer.suspended !== undefined) {
      const { suspended } = answer;
      return {
        paused: { ...earlier, suspended, pending: [{ ...first, token: suspended.token }, ...others] },
      };
    }
    const call = this.#caller(program);
    return this.parts.run({
      source,
      limits,
      options,
      api: savedApi(this.parts.api, tools),
      earlier,
      call: (name, args, callOptions, id) =>
        id === first.id ? answer.result() : call(name, args, callOptions, id),
    });
  }

  /**
   * Answers the call that the person was asked about. An earlier process may have done that and died: then its saved outcome counts.
   * Throws if the call still waits afterwards. A call whose outcome is unknown waits for a second decision: `again`, or `approve: false`,
   * which gives the error to the program.
   */
  async #answerFirst(
    { id, tool, args, token }: PendingCall,
    { program, input, options }: { program: LiveProgram; input: ResumeInput; options: ResumeOptions },
  ): Promise<{ suspended?: undefined; result: () => Promise<ToolResult> } | { suspended: Suspended }> {
    const { toolport } = this.parts;
    const { signal, context, headers } = options;
    const common = { signal, context, headers };
    try {
      const suspend = { ...suspendOptions(program, id), create: false };
      const earlier = await toolport.callTool(tool, args, { ...common, suspend }).catch((error: unknown) => {
        if (isLost(error) && input.again === true) return this.#resume(token, input, common);
        throw error;
      });
      const outcome = isSuspended(earlier) ? await this.#resume(earlier.token, input, common) : earlier;
      return isSuspended(outcome) ? { suspended: outcome } : { result: async () => outcome };
    } catch (error) {
      if (!isOver(error) && !(isLost(error) && input.approve === false)) throw error;
      return { result: () => Promise.reject(error) };
    }
  }

  /** Makes the calls of a program, each at most once. */
  #caller(program: LiveProgram): NonNullable<RunPlan["call"]> {
    const { toolport, api } = this.parts;
    const saved =
      program.tools &&
      new Map(
        Object.values(program.tools)
          .flatMap(Object.values<SavedTool>)
          .map(({ name, hash }) => [name, hash]),
      );
    return async (name, args, options, id) => {
      if (saved !== undefined && (await definitionHash(api.toolNamed(name)!)) !== saved.get(name))
        throw changedTool(name);
      return toolport.callTool(name, args, { ...options, suspend: suspendOptions(program, id) });
    };
  }

  async #finish(
    program: LiveProgram,
    outcome: CodeOutcome | PausedProgram,
    held?: HeldRecord<ProgramRecord>,
  ): Promise<CodeOutcome> {
    if ("paused" in outcome) return this.#save(program, outcome.paused, held);
    const { key, source, run, ttlMs } = program;
    if (key !== undefined)
      await this.#records.point(key, { format: 1, source, outcome: JSON.stringify(outcome) }, ttlMs);
    await held?.delete();
    await this.#forgetCalls(outcome.calls.map((_, index) => callKey(run, index + 1)));
    return outcome;
  }

  /** Saves a program under a new token, in place of the record that this process held. */
  async #save(
    { source, run, key, limits, ttlMs, reasons, tools }: LiveProgram,
    { suspended, pending, image, calls, logs, cpuMs, timeMs }: PausedProgram["paused"],
    held: HeldRecord<ProgramRecord> | undefined,
  ): Promise<CodeSuspended> {
    const { executor, api } = this.parts;
    const { token: _, ...waitsFor } = suspended;
    const record: ProgramRecord = {
      format: 1,
      state: "waiting",
      executor: executor.version ?? "",
      tools: tools ?? (await savedTools(api)),
      image: toBase64(image),
      token: this.#records.createToken(),
      expiresAt: Date.now() + ttlMs,
      source,
      run,
      key,
      limits,
      ttlMs,
      reasons,
      pending,
      calls,
      logs,
      cpuMs,
      timeMs,
      waitsFor,
    };
    await this.#records.save(record);
    if (key !== undefined) await this.#records.point(key, { format: 1, source, token: record.token }, ttlMs);
    await held?.delete();
    return toSuspendedProgram(record);
  }

  /** The outcome of an earlier program with the same key; undefined if it has to be run. */
  async #known(
    key: string,
    source: string,
    signal: AbortSignal | undefined,
  ): Promise<CodeOutcome | undefined> {
    for (;;) {
      const pointer = await this.#records.pointer(key).catch(throwUnsent);
      if (pointer === undefined) return undefined;
      if (pointer.source !== source) throw suspensionError("reusedKey");
      if (pointer.outcome !== undefined) return JSON.parse(pointer.outcome) as CodeOutcome;
      // It ended without an outcome. Its calls have saved theirs, so that it can be run again.
      if (pointer.token === undefined) return undefined;
      const entry = await this.#records.find(pointer.token).catch(throwUnsent);
      if (entry === undefined) return undefined;
      if (entry.record.state === "waiting" || (await this.#isAbandoned(entry, signal)))
        return toSuspendedProgram(entry.record);
    }
  }

  /** Waits while another process runs the program. True if that process is gone. */
  #isAbandoned(entry: VersionedRecord<ProgramRecord>, signal: AbortSignal | undefined): Promise<boolean> {
    return isAbandoned(entry, () => this.#records.find(entry.record.token), signal);
  }
}

const callKey = (run: string, id: number): string => `program ${run} ${id}`;

const suspendOptions = (
  { run, ttlMs, requireDurable, reasons }: LiveProgram,
  id: number,
): SuspendSettings => ({
  key: callKey(run, id),
  ttlMs,
  requireDurable,
  reasons,
});

/** True if the call will not wait any more: the program gets the error. Other errors leave it waiting, and the caller gets them. */
const isOver = (error: unknown): boolean =>
  ToolportError.isInstance(error) &&
  (error.code === "REFUSED" || (error.outcome !== "unsent" && !isLost(error)));

/** True if a process died while the call was on its way. */
const isLost = (error: unknown): boolean =>
  ToolportError.isInstance(error) && error.code === "OUTCOME_UNKNOWN";

const PROBLEMS = {
  /** The same for wrong, used, expired and foreign tokens, so that it tells nothing about them. */
  unknownProgram: {
    code: "SUSPENSION_UNKNOWN",
    what: "No suspended program with this token waits for this principal",
    next: "It may be used, expired or of another principal; run the program again",
  },
  otherEngine: {
    code: "SUSPENSION_UNKNOWN",
    what: "The program was suspended by another version of the engine, which this one cannot continue",
    next: "Resume with the versions of toolport and quickjs-wasi that suspended it, or run the program again",
  },
  reusedKey: {
    code: "KEY_REUSED",
    what: "The key was already used for another program",
    next: "Use one key for one program only",
  },
} as const;

const suspensionError = (problem: keyof typeof PROBLEMS): SuspensionError =>
  new SuspensionError({ ...PROBLEMS[problem], outcome: "unsent" });

/** Public names and definitions of all tools of a program. */
async function savedTools({ servers }: ProgramApi): Promise<ProgramRecord["tools"]> {
  const entries = servers.map(async ({ member, tools }) => {
    const own = tools.map(async (each): Promise<[string, SavedTool]> => {
      const { name } = each.tool;
      return [each.member, { name, hash: await definitionHash(each.tool) }];
    });
    return [member, Object.fromEntries(await Promise.all(own))] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** What the model knew of the tool when it wrote the program. */
const definitionHash = ({ name, server, sourceName, description, inputSchema, outputSchema }: ToolInfo) =>
  sha256(canonicalJson({ name, server, sourceName, description, inputSchema, outputSchema }));

/** The names that the program knows, whatever the catalog has now. A tool that is gone is undefined. */
function savedApi(api: ProgramApi, saved: ProgramRecord["tools"]): ProgramApi {
  const nameOf = (server: string, tool: string): string | undefined =>
    Object.hasOwn(saved, server) && Object.hasOwn(saved[server]!, tool)
      ? saved[server]![tool]!.name
      : undefined;
  return {
    ...api,
    members: Object.fromEntries(Object.entries(saved).map(([server, tools]) => [server, Object.keys(tools)])),
    toolOf: (server, tool) => {
      const name = nameOf(server, tool);
      return name === undefined ? undefined : api.toolNamed(name);
    },
  };
}

const changedTool = (tool: string): CatalogError =>
  new CatalogError({
    tool,
    code: "TOOL_CHANGED",
    what: "The definition of the tool has changed since the program was suspended",
    next: "Review the new definition and run the program again",
    outcome: "unsent",
  });
