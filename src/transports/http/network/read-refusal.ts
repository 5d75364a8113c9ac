/** The bodies of answers that are no answers. */
import { collectBody } from "./collect-body.js";
import { mediaType } from "./media-type.js";
import type { AnswerBody, WireAnswer } from "./wire.js";

/** Longer ones are shortened, slower ones not waited for. */
const LIMITS = { maxBytes: 256 * 1024, timeoutMs: 5_000 } as const;

/** Never rejects: a refusal counts even if its body breaks off. */
export async function readRefusal(answer: WireAnswer): Promise<Uint8Array> {
  const collected = await collectBody(answer.body, LIMITS).catch(() => undefined);
  return collected?.bytes ?? new Uint8Array(0);
}

/** A body that was read, for somebody who reads it again. */
export function bodyOf(bytes: Uint8Array): AnswerBody {
  return {
    pipe(sink) {
      sink.chunk(bytes);
      sink.end();
    },
    resume() {},
    cancel() {},
  };
}

/** Lets go of a body that nobody wants, so that its connection can be used again. */
export function discardBody(answer: WireAnswer): void {
  if (mediaType(answer.headers.get("content-type")) === "text/event-stream") answer.body.cancel();
  else void readRefusal(answer);
}
