/** A whole body in memory, up to a limit. */
import { ChunkList } from "../../../util/chunk-list.js";
import type { ResponseBody, WireResponse } from "./wire-client.js";

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
  body: ResponseBody,
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

/** Longer ones are shortened, slower ones not waited for. */
const LIMITS = { maxBytes: 256 * 1024, timeoutMs: 5_000 } as const;

/** Never rejects: a refusal counts even if its body breaks off. */
export async function readShortBody(response: WireResponse): Promise<Uint8Array> {
  const collected = await collectBody(response.body, LIMITS).catch(() => undefined);
  return collected?.bytes ?? new Uint8Array(0);
}

/** A body that was read, for somebody who reads it again. */
export function bufferedBody(bytes: Uint8Array): ResponseBody {
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
export function discardBody(response: WireResponse): void {
  if (mediaType(response.headers.get("content-type")) === "text/event-stream") response.body.cancel();
  else void readShortBody(response);
}

/** Type and subtype in lower case, without parameters; empty where there is none. */
export function mediaType(contentType: string | null): string {
  if (contentType === null) return "";
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** A success whose body is a stream of events. */
export const isEventStream = ({ status, headers }: WireResponse): boolean =>
  status >= 200 && status < 300 && mediaType(headers.get("content-type")) === "text/event-stream";

const utf8 = new TextDecoder();

/** Decodes by the `charset` parameter, UTF-8 without one; undefined where the runtime does not know the charset. */
export function decodeText(bytes: Uint8Array, contentType: string | null): string | undefined {
  if (contentType === null || !contentType.includes(";")) return utf8.decode(bytes);
  const label = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]?.toLowerCase();
  if (label === undefined || label === "utf-8" || label === "utf8") return utf8.decode(bytes);
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return undefined;
  }
}
