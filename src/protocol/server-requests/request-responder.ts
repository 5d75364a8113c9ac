/** Where the requests of one connection's server are answered: in turn, for the right tool, as long as somebody waits. */
import { ToolCallError } from "../../errors/tool-call-error.js";
import { onSharedAbort } from "../../util/shared-abort.js";
import { SlotList, type Slotted } from "../../util/slot-list.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { RequestOrigin } from "./request-origin.js";

/** All that a server may ask of a client. */
export type RequestMethod = "elicitation/create" | "sampling/createMessage" | "roots/list";

/** How each kind of request is answered. */
export type Answers = Readonly<
  Record<
    RequestMethod,
    (params: Readonly<Record<string, unknown>>, origin: RequestOrigin) => Promise<Record<string, unknown>>
  >
>;

/** A request as it stands on the wire or inside a result. */
export interface ServerRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** A tool call under way. */
export interface CallUnderWay extends Slotted {
  readonly tool: string;
  /** The task that the call has become. */
  readonly taskId?: string | undefined;
  /** Requests put down to the call and not answered yet; made only when there is one. */
  requests?: Set<AbortController> | undefined;
}

/** Legacy wire: where a message says which task it belongs to; its answer has to say the same. */
export const RELATED_TASK_META_KEY = "io.modelcontextprotocol/related-task";

/** The task that a request belongs to. */
export function relatedTask({ params }: ServerRequest): { taskId: string } | undefined {
  const meta = params?.["_meta"] as Readonly<Record<string, unknown>> | undefined;
  const related = meta?.[RELATED_TASK_META_KEY] as { taskId?: unknown } | undefined;
  return typeof related?.taskId === "string" ? { taskId: related.taskId } : undefined;
}

interface DeskParts {
  server: string;
  principal?: string | undefined;
  answers: Answers;
  report: (error: unknown) => void;
}

const isServerRequest = (answers: Answers, method: string): method is RequestMethod =>
  Object.hasOwn(answers, method);

export class RequestDesk {
  readonly #parts: DeskParts;
  readonly #gates = new Map<RequestMethod, RequestGate>();
  readonly #calls = new SlotList<CallUnderWay>();
  #owed = 0;
  #lastOwedAt = 0;
  #overloadReported = false;

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  /** Notes a call of the legacy era, whose requests do not say what they belong to. */
  beginCall(tool: string, taskId?: string): CallUnderWay {
    const call: CallUnderWay = { tool, taskId, requests: undefined, slot: -1 };
    this.#calls.add(call);
    return call;
  }

  /** Without a reason the call came to its end; with one nobody waits for what was asked on its behalf. */
  endCall(call: CallUnderWay, reason?: unknown): void {
    this.#calls.delete(call);
    if (reason === undefined) return;
    for (const request of call.requests ?? []) request.abort(reason);
  }

  /** When the server last waited for us (`performance.now()`): its silence until then was ours. */
  lastOwedAt = (): number => (this.#owed > 0 ? performance.now() : this.#lastOwedAt);

  /** Answers one request. Rejects with a `ToolCallError`, or with the signal's reason as soon as it is aborted. */
  async answer(
    { method, params = {} }: ServerRequest,
    { tool, signal }: { tool?: string | undefined; signal: AbortSignal },
  ): Promise<Record<string, unknown>> {
    const { server, answers } = this.#parts;
    if (!isServerRequest(answers, method)) throw unknownRequest(server, tool);
    const { principal } = this.#parts;
    const origin: RequestOrigin = {
      server,
      ...(tool !== undefined && { tool }),
      ...(principal !== undefined && { principal }),
      signal,
    };
    const gate = this.#gate(method);
    if (gate.idle) this.#overloadReported = false;
    const answering = gate.run(() => answers[method](params, origin), signal);
    return withDeadline(answering, { signal, onTimeout: () => signal.reason });
  }

  /**
   * Answers a request that came as a message of its own. Nobody but the server hears of a failure, so it is reported;
   * the server learns no more than that there was one.
   */
  async answerMessage(request: ServerRequest, signal: AbortSignal): Promise<Record<string, unknown>> {
    const call = this.#callOf(request);
    const end = new AbortController();
    const onAbort = () => end.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (call !== undefined) {
      call.requests ??= new Set();
      call.requests.add(end);
    }
    this.#owed += 1;
    try {
      return await this.answer(request, { tool: call?.tool, signal: end.signal });
    } catch (error) {
      if (!end.signal.aborted) this.#reportOnce(error);
      throw toWireError(error);
    } finally {
      signal.removeEventListener("abort", onAbort);
      call?.requests?.delete(end);
      this.#owed -= 1;
      this.#lastOwedAt = performance.now();
    }
  }

  /** The one call under way must be the reason; where there are more, only a task says what it is for. */
  #callOf(request: ServerRequest): CallUnderWay | undefined {
    const calls = this.#calls.toArray();
    const related = relatedTask(request);
    if (related !== undefined) return calls.find(({ taskId }) => taskId === related.taskId);
    return calls.length === 1 ? calls[0] : undefined;
  }

  #gate(method: RequestMethod): RequestGate {
    let gate = this.#gates.get(method);
    if (gate === undefined) {
      gate = new RequestGate();
      this.#gates.set(method, gate);
    }
    return gate;
  }

  /** A flood is one piece of news, not thousands. */
  #reportOnce(error: unknown): void {
    const { report, server } = this.#parts;
    if (!(error instanceof ToolCallError) || error.code !== "OVERLOADED") return report(error);
    if (!this.#overloadReported) report(error.withContext({ server }));
    this.#overloadReported = true;
  }
}

function unknownRequest(server: string, tool: string | undefined): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    tool,
    what: "The server asked for something that MCP does not let it ask for",
    next: "Report this to the maker of the server",
  });
}

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** The SDK sends an error's own code if it is a number. */
function toWireError(error: unknown): Error & { code: number } {
  const code = error instanceof ToolCallError ? error.code : undefined;
  if (code === "PROTOCOL")
    return Object.assign(new Error("The client cannot serve this request"), { code: INVALID_PARAMS });
  const message =
    code === "OVERLOADED" ? "Too many requests at once" : "The client could not answer this request";
  return Object.assign(new Error(message), { code: INTERNAL_ERROR });
}

/** Requests that may wait while one is being answered. */
export const MAX_WAITING = 16;

export class RequestGate {
  readonly #line = new Set<() => void>();
  #busy = false;

  /** Nobody is inside and nobody waits. */
  get idle(): boolean {
    return !this.#busy;
  }

  /**
   * Runs `work` when its turn comes. The place is held until the work is really over, even if its signal was aborted:
   * a callback that does not listen to it must not be started again and again.
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    await this.#enter(signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (!this.#busy) {
      this.#busy = true;
      return;
    }
    if (this.#line.size >= MAX_WAITING) throw overloaded();
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#line.delete(admit);
        reject(signal.reason);
      };
      this.#line.add(admit);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#busy = false;
    } else {
      this.#line.delete(next);
      next();
    }
  }
}

function overloaded(): ToolCallError {
  return new ToolCallError({
    code: "OVERLOADED",
    what: `The server asks for more at once than can be answered: ${MAX_WAITING} requests wait already`,
    next: "Look at what the server does",
  });
}

/** All at once, as the specification wants it; the first that fails ends the others, the signal ends all. */
export async function answerTogether(
  desk: RequestDesk,
  requests: readonly (readonly [name: string, request: ServerRequest])[],
  { tool, signal }: { tool: string | undefined; signal: AbortSignal },
): Promise<Record<string, unknown>> {
  signal.throwIfAborted();
  // A signal for each: listeners of many requests on one signal would look like a leak, and some would be one.
  const ends = requests.map(() => new AbortController());
  const endAll = (reason: unknown) => {
    for (const end of ends) end.abort(reason);
  };
  const stopListening = onSharedAbort(signal, () => endAll(signal.reason));
  try {
    const answers = requests.map(async ([name, request], index) => {
      try {
        return [name, await desk.answer(request, { tool, signal: ends[index]!.signal })] as const;
      } catch (error) {
        endAll(error);
        throw error;
      }
    });
    return Object.fromEntries(await Promise.all(answers));
  } finally {
    stopListening();
  }
}
