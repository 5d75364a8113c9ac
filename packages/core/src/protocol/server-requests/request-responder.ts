/** Responds to the requests of one server: one at a time per method, with the tool call they belong to. */
import {
  getOrMake,
  onSharedAbort,
  SlotList,
  type Slotted,
  ToolCallError,
  withDeadline,
} from "@toolport/base";
import type { RequestOrigin } from "./sampling-and-roots.js";

/** The requests that MCP allows a server to send. */
export type RequestMethod = "elicitation/create" | "sampling/createMessage" | "roots/list";

export type RequestHandlers = Readonly<
  Record<
    RequestMethod,
    (params: Readonly<Record<string, unknown>>, origin: RequestOrigin) => Promise<Record<string, unknown>>
  >
>;

/** A request of a server, received as a message or inside a result. */
export interface ServerRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** A tool call in flight. */
interface TrackedCall extends Slotted {
  readonly tool: string;
  /** The task that the call has become. */
  readonly taskId?: string | undefined;
  /** The `owner` of the call's request. */
  readonly owner?: object | undefined;
  /** Open server requests that belong to the call; created with the first one. */
  requests?: Set<AbortController> | undefined;
}

/** Legacy wire: names the task that a message belongs to. The response must repeat it. */
export const RELATED_TASK_META_KEY = "io.modelcontextprotocol/related-task";

/** The task that a request belongs to. */
export function relatedTask({ params }: ServerRequest): { taskId: string } | undefined {
  const meta = params?.["_meta"] as Readonly<Record<string, unknown>> | undefined;
  const related = meta?.[RELATED_TASK_META_KEY] as { taskId?: unknown } | undefined;
  return typeof related?.taskId === "string" ? { taskId: related.taskId } : undefined;
}

interface ResponderParts {
  server: string;
  principal?: string | undefined;
  handlers: RequestHandlers;
  report: (error: unknown) => void;
}

const isRequestMethod = (handlers: RequestHandlers, method: string): method is RequestMethod =>
  Object.hasOwn(handlers, method);

export class RequestResponder {
  readonly #queues = new Map<RequestMethod, SerialQueue>();
  readonly #calls = new SlotList<TrackedCall>();
  #open = 0;
  #lastWaitedAt = 0;
  #overloadReported = false;

  constructor(private readonly parts: ResponderParts) {}

  /** Tracks a call to a legacy server, whose requests do not name the call they belong to. */
  beginCall(tool: string, taskId?: string, owner?: object): TrackedCall {
    const call: TrackedCall = { tool, taskId, owner, requests: undefined, slot: -1 };
    this.#calls.add(call);
    return call;
  }

  /** Ends tracking. With a reason the call failed: its open server requests are aborted. */
  endCall(call: TrackedCall, reason?: unknown): void {
    this.#calls.delete(call);
    if (reason === undefined) return;
    for (const request of call.requests ?? []) request.abort(reason);
  }

  /** When the server last waited for a response of this client (`performance.now()`). It may be silent until then. */
  serverLastWaitedAt = (): number => (this.#open > 0 ? performance.now() : this.#lastWaitedAt);

  /** Handles one request. Rejects with a `ToolCallError`, or with the signal's reason as soon as it aborts. */
  async respond(
    { method, params = {} }: ServerRequest,
    { tool, signal }: { tool?: string | undefined; signal: AbortSignal },
  ): Promise<Record<string, unknown>> {
    const { server, handlers, principal } = this.parts;
    if (!isRequestMethod(handlers, method))
      throw new ToolCallError({
        code: "PROTOCOL",
        server,
        tool,
        what: "The server sent a request that MCP does not allow servers to send",
        next: "Report this to the author of the server",
      });
    const known = { ...(tool !== undefined && { tool }), ...(principal !== undefined && { principal }) };
    const origin: RequestOrigin = { server, ...known, signal };
    const queue = getOrMake(this.#queues, method, () => new SerialQueue());
    if (queue.isIdle) this.#overloadReported = false;
    const handling = queue.run(() => handlers[method](params, origin), signal);
    return withDeadline(handling, { signal, onTimeout: () => signal.reason });
  }

  /** Handles the requests of one result concurrently. The first failure aborts the others. */
  async respondAll(
    requests: readonly (readonly [name: string, request: ServerRequest])[],
    { tool, signal }: { tool: string | undefined; signal: AbortSignal },
  ): Promise<Record<string, unknown>> {
    signal.throwIfAborted();
    // One controller per request: Node warns about a leak when many listeners share one signal.
    const controllers = requests.map(() => new AbortController());
    const abortAll = (reason: unknown) => {
      for (const controller of controllers) controller.abort(reason);
    };
    const stopListening = onSharedAbort(signal, () => abortAll(signal.reason));
    try {
      const responses = requests.map(async ([name, request], index) => {
        try {
          return [name, await this.respond(request, { tool, signal: controllers[index]!.signal })] as const;
        } catch (error) {
          abortAll(error);
          throw error;
        }
      });
      return Object.fromEntries(await Promise.all(responses));
    } finally {
      stopListening();
    }
  }

  /**
   * Handles a request that arrived as a message. No caller of Toolport sees a failure, so it is reported. The server gets
   * an error without details.
   *
   * @param owner that of the request on whose stream the message arrived
   */
  async respondToMessage(
    request: ServerRequest,
    signal: AbortSignal,
    owner?: object,
  ): Promise<Record<string, unknown>> {
    const call = this.#callOf(request, owner);
    const controller = new AbortController();
    const onAbort = () => controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (call !== undefined) {
      call.requests ??= new Set();
      call.requests.add(controller);
    }
    this.#open += 1;
    try {
      return await this.respond(request, { tool: call?.tool, signal: controller.signal });
    } catch (error) {
      if (!controller.signal.aborted) this.#reportOnce(error);
      throw toWireError(error);
    } finally {
      signal.removeEventListener("abort", onAbort);
      call?.requests?.delete(controller);
      this.#open -= 1;
      this.#lastWaitedAt = performance.now();
    }
  }

  /** The call of the request's task or stream; else the only call in flight. With several calls the wire does not say which. */
  #callOf(request: ServerRequest, owner: object | undefined): TrackedCall | undefined {
    const calls = this.#calls.toArray();
    const related = relatedTask(request);
    if (related !== undefined) return calls.find(({ taskId }) => taskId === related.taskId);
    if (owner !== undefined) return calls.find((call) => call.owner === owner);
    return calls.length === 1 ? calls[0] : undefined;
  }

  /** Reports an overload once, not for each of thousands of requests. */
  #reportOnce(error: unknown): void {
    const { report, server } = this.parts;
    if (!(error instanceof ToolCallError) || error.code !== "OVERLOADED") return report(error);
    if (!this.#overloadReported) report(error.withContext({ server }));
    this.#overloadReported = true;
  }
}

/** Maximum number of requests that wait while one runs. */
export const MAX_WAITING = 16;

/** Bounded serial queue; rejects on overflow. */
export class SerialQueue {
  readonly #waiting = new Set<() => void>();
  #busy = false;

  /** Nothing runs or waits. */
  get isIdle(): boolean {
    return !this.#busy;
  }

  /**
   * Runs `work` after everything queued before it. An abort does not free the queue before `work` has settled: a callback
   * that ignores its signal must not run several times at once.
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
    if (this.#waiting.size >= MAX_WAITING)
      throw new ToolCallError({
        code: "OVERLOADED",
        what: `The server sent too many requests at once: ${MAX_WAITING} are already waiting`,
        next: "Check why the server sends so many requests",
      });
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(admit);
        reject(signal.reason);
      };
      this.#waiting.add(admit);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#busy = false;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** The SDK sends the `code` of an error to the server if it is a number. */
function toWireError(error: unknown): Error & { code: number } {
  const code = error instanceof ToolCallError ? error.code : undefined;
  if (code === "PROTOCOL")
    return Object.assign(new Error("The client cannot serve this request"), { code: INVALID_PARAMS });
  const message =
    code === "OVERLOADED" ? "Too many requests at once" : "The client could not answer this request";
  return Object.assign(new Error(message), { code: INTERNAL_ERROR });
}
