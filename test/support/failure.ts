/** The expected error of a call. */
import type { ToolportError } from "toolport";

/** Resolves with the rejection of the promise; rejects if the promise resolves. */
export const failure = <Failure = ToolportError>(promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => Promise.reject(new Error("Expected a failure")),
    (error: Failure) => error,
  );
