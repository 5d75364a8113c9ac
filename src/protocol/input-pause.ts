/** A request that is suspended while a person answers the server, and what is needed to continue it. */
import type { ElicitationRequest } from "./server-requests/elicitation-request.js";

/** The state of a request that waits for input. Plain JSON, so that it can be saved. */
export interface InputPause {
  /** What the user is asked, by the key of the answer. */
  readonly requests: Readonly<Record<string, ElicitationRequest>>;
  /** Answers that need no person (sampling, roots), to be sent with those of the user. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** Opaque state of the server, to be returned unchanged. */
  readonly requestState?: string | undefined;
  /** Number of this round, from 1. */
  readonly round: number;
  /**
   * How the answers reach the server: as `inputResponses` of the next request, by repeating the request after the user has
   * visited the pages (revision 2025-11-25), or as input of a task.
   */
  readonly by: "responses" | "repetition" | "task";
  /** The task that waits; only with `by: "task"`. */
  readonly taskId?: string | undefined;
}

/** The next round of a request. */
export interface ResumedInput {
  readonly round: number;
  readonly by: InputPause["by"];
  readonly inputResponses: Readonly<Record<string, unknown>>;
  readonly requestState?: string | undefined;
}

/** Set for a request that may be suspended. */
export interface SuspendableRequest {
  /** Continue with this round instead of beginning anew. */
  readonly resumed?: ResumedInput | undefined;
  /** Receives refused questions, which the user never sees. */
  readonly report: (error: unknown) => void;
}

const pauses = new WeakMap<object, InputPause>();

/** Takes the place of the result of a request that waits for input. */
export function toPausedRaw(pause: InputPause): Record<string, unknown> {
  const raw = {};
  pauses.set(raw, pause);
  return raw;
}

/** Undefined for a real result. A server cannot forge it. */
export const inputPauseOf = (raw: object): InputPause | undefined => pauses.get(raw);
