/** A whole body in memory, up to a limit. */
import { ChunkList } from "../../../util/chunk-list.js";
import type { AnswerBody } from "./wire.js";

export interface CollectedBody {
  readonly bytes: Uint8Array;
  /** There was more than the limit (or than the time allowed); the rest was not read. */
  readonly cut: boolean;
}

export interface CollectOptions {
  readonly maxBytes: number;
  /** Give up waiting for the rest after this long. @default no limit */
  readonly timeoutMs?: number;
}

/** Reads a body to its end, or stops the flow as soon as it is over the limit. Rejects when the body breaks. */
export function collectBody(
  body: AnswerBody,
  { maxBytes, timeoutMs }: CollectOptions,
): Promise<CollectedBody> {
  return new Promise((resolve, reject) => {
    const chunks = new ChunkList();
    const finish = (cut: boolean) => {
      clearTimeout(timer);
      resolve({ bytes: chunks.takeBlock(maxBytes), cut });
    };
    const stop = () => {
      body.cancel();
      finish(true);
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(stop, timeoutMs);
    body.pipe({
      chunk(bytes) {
        chunks.push(bytes);
        const within = chunks.byteLength <= maxBytes;
        if (!within) stop();
        return within;
      },
      end: () => finish(false),
      fail(error) {
        clearTimeout(timer);
        reject(error);
      },
    });
  });
}
