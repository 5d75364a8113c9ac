/** Polls a task until its result is there, answers its input requests, and survives reconnects. */

import { ConnectionError, onSharedAbort, sleep, ToolportError } from "@toolport/base";
import { runOnSession, type ServerConnection } from "../../connection/server-connection.js";
import { type InputPause, splitInput } from "../../protocol/input-rounds.js";
import type { ServerRequest } from "../../protocol/server-requests/request-responder.js";
import type { Session, SessionRequestOptions } from "../../protocol/session.js";
import { getTask, getTaskResult, isFinal, type TaskState, updateTask } from "../../protocol/tasks.js";
import type { CallSuspension } from "../suspend/call-suspension.js";
import { isUnknownTask, taskCancelled, taskFailed, taskFault, taskLost } from "./task-errors.js";

export interface FollowParts {
  readonly connection: ServerConnection;
  readonly taskId: string;
  /** Name of the tool on the server. */
  readonly tool: string;
  /** How long the server may take to answer one poll. */
  readonly timeoutMs: number;
  /** When the task must be over (`performance.now()`). */
  readonly deadline: number;
  /** Aborted when the caller gives up, and at the deadline. */
  readonly signal: AbortSignal;
  /** Called with every status message. */
  readonly onStatus: (message: string | undefined) => void;
  /** Registers a listener for notifications about the task; returns a function that removes it. */
  readonly onNews: (listener: () => void) => () => void;
  /** Set if the task may wait for a person without a running process. */
  readonly suspension?: CallSuspension | undefined;
  /** Receives questions to the user that Toolport declines. */
  readonly report: (error: unknown) => void;
}

/** Limit for servers that never stop asking. */
const MAX_INPUT_ROUNDS = 100;

/**
 * Resolves with the raw result of a task, and whether input of the user went into it. With a `pause`, the task waits for a person, and
 * there is no result yet. `first` is its state at creation.
 */
export async function followTask(parts: FollowParts, first?: TaskState) {
  const follower = new Follower(parts);
  const raw = await follower.run(first);
  return { raw, usedInput: follower.usedInput, pause: follower.pause };
}

class Follower {
  usedInput = false;
  /** Set if the task waits for a person. */
  pause: InputPause | undefined;
  readonly #where: { server: string; tool: string };
  readonly #answered = new Set<string>();
  #polls = 0;
  #rounds = 0;
  /** Legacy era: the pending request for the result, opened early because the server sends its input requests on it. */
  #early: Promise<Record<string, unknown>> | undefined;

  constructor(readonly parts: FollowParts) {
    this.#where = { server: parts.connection.name, tool: parts.tool };
  }

  async run(first: TaskState | undefined): Promise<Record<string, unknown>> {
    const answers = this.parts.suspension?.input?.inputResponses;
    if (answers !== undefined) await this.#sendInput(answers);
    // The message that creates a task contains no result, even if its status is final.
    let state = first === undefined || isFinal(first.status.status) ? await this.#poll() : first;
    for (;;) {
      this.parts.onStatus(state.status.message);
      if (isFinal(state.status.status)) return this.#finish(state);
      if (state.status.status === "input_required") await this.#giveInput(state);
      if (this.pause !== undefined) return {};
      const restMs = taskPaceMs(state.status.pollIntervalMs, this.#polls);
      const early = await restFromTask(restMs, this.parts, this.#early);
      if (early !== undefined) return early;
      state = await this.#poll();
    }
  }

  /** Polls until the server answers. Connection errors are retried within `timeoutMs`. */
  async #poll(): Promise<TaskState> {
    const { taskId, timeoutMs, signal } = this.parts;
    const askedAt = performance.now();
    this.#polls += 1;
    for (let attempt = 0; ; attempt += 1) {
      const leftMs = askedAt + timeoutMs - performance.now();
      try {
        return await this.#onSession((session) => getTask(session, taskId, this.#limits(leftMs)), leftMs);
      } catch (error) {
        if (isUnknownTask(error)) throw taskLost(this.#where, error);
        const waitMs = Math.max(taskPaceMs(undefined, attempt), retryAfterMs(error));
        if (signal.aborted || !mayPass(error) || waitMs >= askedAt + timeoutMs - performance.now())
          throw error;
        await sleep(waitMs, signal);
      }
    }
  }

  async #finish(state: TaskState): Promise<Record<string, unknown>> {
    const { status } = state.status;
    if (status === "cancelled") throw taskCancelled(this.#where, state);
    if (state.error !== undefined) throw taskFailed(this.#where, state);
    if (state.result !== undefined) return this.#inlined(state.result);
    try {
      return await this.#legacyResult();
    } catch (error) {
      if (status !== "failed" || this.parts.signal.aborted || mayPass(error)) throw error;
      throw taskFailed(this.#where, state, error);
    }
  }

  #inlined({ resultType, ...result }: Readonly<Record<string, unknown>>): Record<string, unknown> {
    if (resultType === undefined || resultType === "complete") return result;
    throw taskFault(this.#where, "The result of the task is of a kind that is not supported", resultType);
  }

  async #legacyResult(): Promise<Record<string, unknown>> {
    const { taskId, timeoutMs, tool } = this.parts;
    return this.#onSession((session) => {
      if (session.era === "modern") throw taskFault(this.#where, "The task is over, but there is no result");
      return getTaskResult(session, taskId, { ...this.#limits(timeoutMs), tool });
    }, timeoutMs);
  }

  async #giveInput({ inputRequests }: TaskState): Promise<void> {
    const { connection, taskId, tool, timeoutMs, signal } = this.parts;
    this.usedInput = true;
    if (inputRequests === undefined) return this.#openResult();
    const fresh = Object.entries(inputRequests).filter(([key]) => !this.#answered.has(key));
    if (fresh.length === 0) return;
    this.#rounds += 1;
    if (this.#rounds > MAX_INPUT_ROUNDS)
      throw taskFault(this.#where, `The task still required input after ${MAX_INPUT_ROUNDS} rounds`);
    const session = connection.session ?? (await connection.acquire({ signal, timeoutMs }));
    const respond = (live: readonly (readonly [string, ServerRequest])[]) =>
      session.answerInputRequests(Object.fromEntries(live), { tool, signal });
    if (this.parts.suspension === undefined) return this.#sendInput(await respond(fresh));
    const { report } = this.parts;
    const { requests, responses } = await splitInput(fresh, { where: this.#where, report, respond });
    if (Object.keys(requests).length === 0) return this.#sendInput(responses);
    const round = (this.parts.suspension.input?.round ?? 0) + this.#rounds;
    this.pause = { requests, responses, round, by: "task", taskId };
  }

  async #sendInput(inputResponses: Readonly<Record<string, unknown>>): Promise<void> {
    const { taskId, timeoutMs, suspension } = this.parts;
    this.usedInput = true;
    // May be sent twice, because the server counts every key once.
    await this.#onSession((current) => {
      suspension?.onStage?.("sending");
      return updateTask(current, { taskId, inputResponses }, this.#limits(timeoutMs));
    }, timeoutMs).catch(async (error: unknown) => {
      // The same code is used for input that the server rejects.
      if (isUnknownTask(error)) await this.#poll();
      throw error;
    });
    suspension?.onStage?.("begun");
    for (const key of Object.keys(inputResponses)) this.#answered.add(key);
  }

  /** Legacy era: the server sends its input requests while the client waits for the result. */
  #openResult(): void {
    const { taskId, tool, timeoutMs, connection } = this.parts;
    if (this.#early !== undefined || connection.session?.era === "modern") return;
    // No timeout here: the polls show whether the server is alive.
    const limits = { ...this.#limits(Number.POSITIVE_INFINITY), tool };
    const asked = this.#onSession((session) => getTaskResult(session, taskId, limits), timeoutMs);
    this.#early = new Promise((resolve) => {
      asked.then(resolve, () => {
        this.#early = undefined;
      });
    });
  }

  #limits(timeoutMs: number): SessionRequestOptions {
    const { deadline, signal, suspension, report } = this.parts;
    const suspendable = suspension && { report };
    return { timeoutMs, maxTimeoutMs: deadline - performance.now(), signal, suspendable };
  }

  #onSession<Result>(run: (session: Session) => Promise<Result>, waitMs: number): Promise<Result> {
    const { connection, signal, deadline } = this.parts;
    const limitMs = Math.max(0, Math.min(waitMs, deadline - performance.now()));
    return runOnSession(connection, run, { repeatable: true, waitMs: limitMs, signal });
  }
}

/** A connection error, which does not affect the task itself. */
const mayPass = (error: unknown): boolean =>
  ToolportError.isInstance(error) &&
  error.retryable &&
  (error instanceof ConnectionError || error.code === "TIMEOUT");

const retryAfterMs = (error: unknown): number =>
  error instanceof ConnectionError ? (error.retryAfterMs ?? 0) : 0;

const MIN_PACE_MS = 100;
const MAX_PACE_MS = 60_000;
/** Default interval if the server gives none; it grows with every poll. */
const FIRST_PACE_MS = 250;
const LAST_PACE_MS = 5_000;
const GROWTH = 1.5;
/** Added at random, so that many clients do not poll at the same time. Never less than the server asks for. */
const JITTER = 0.1;

/** @param polls number of polls so far */
export function taskPaceMs(
  wishMs: number | undefined,
  polls: number,
  random: () => number = Math.random,
): number {
  const ownMs = Math.min(FIRST_PACE_MS * GROWTH ** polls, LAST_PACE_MS);
  const paceMs = Math.min(Math.max(wishMs ?? ownMs, MIN_PACE_MS), MAX_PACE_MS);
  return paceMs * (1 + random() * JITTER);
}

/**
 * Resolves after `ms`, or earlier after a notification, or with the result. The timer keeps the process alive, because a
 * caller waits for the task.
 *
 * @param result may settle before the next poll is due
 */
function restFromTask<Result>(
  ms: number,
  { signal, onNews }: Pick<FollowParts, "signal" | "onNews">,
  result: Promise<Result> | undefined,
): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const startedAt = performance.now();
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      stopNews();
      stopAbort();
      finish();
    };
    const done = () => settle(() => resolve(undefined));
    let timer = setTimeout(done, ms);
    const stopNews = onNews(() => {
      clearTimeout(timer);
      // Frequent notifications must not cause more frequent polls than the minimum interval.
      timer = setTimeout(done, Math.max(0, startedAt + MIN_PACE_MS - performance.now()));
    });
    const stopAbort = onSharedAbort(signal, () => settle(() => reject(signal.reason)));
    result?.then((value) => settle(() => resolve(value)));
  });
}
