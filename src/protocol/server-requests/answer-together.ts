/** Answers several requests of a server's that came in one message. */
import { onSharedAbort } from "../../util/shared-abort.js";
import type { RequestDesk, ServerRequest } from "./request-desk.js";

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
