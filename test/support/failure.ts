/** The error that a call is expected to end in. */
import type { ToolportError } from "toolport";

/** Resolves with what the promise rejects with; rejects if it does not. */
export const failure = <Failure = ToolportError>(promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => Promise.reject(new Error("Expected a failure")),
    (error: Failure) => error,
  );
