/** Reads response bodies: collects them up to a limit, decodes their text, or discards them. */

import { ChunkList } from "@toolport/base";
import type { ResponseBody, WireResponse } from "./wire-client.js";

/**
 * Reads a body to its end, or cancels it when it exceeds a limit: then it is `cut`. Rejects if the body breaks.
 *
 * @param limits `timeoutMs`: stop waiting for the rest after this time
 */
export function collectBody(
  body: ResponseBody,
  { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs?: number },
): Promise<{ readonly bytes: Uint8Array; readonly cut: boolean }> {
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

/** For bodies of error responses: longer ones are cut off, slower ones are cancelled. */
const LIMITS = { maxBytes: 256 * 1024, timeoutMs: 5_000 } as const;

/** Reads the body of an error response. Never rejects: the status counts even if the body breaks. */
export async function readShortBody(response: WireResponse): Promise<Uint8Array> {
  const collected = await collectBody(response.body, LIMITS).catch(() => undefined);
  return collected?.bytes ?? new Uint8Array(0);
}

/** A body that was already read, to be read again. */
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

/** Discards a body that is not needed, so that its socket can be reused. */
export function discardBody(response: WireResponse): void {
  if (mediaType(response.headers.get("content-type")) === "text/event-stream") response.body.cancel();
  else void readShortBody(response);
}

/** Type and subtype in lower case, without parameters; empty if there is none. */
export function mediaType(contentType: string | null): string {
  if (contentType === null) return "";
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Whether the response is successful and its body is an event stream. */
export const isEventStream = ({ status, headers }: WireResponse): boolean =>
  status >= 200 && status < 300 && mediaType(headers.get("content-type")) === "text/event-stream";

const utf8 = new TextDecoder();

/** Decodes by the `charset` parameter, UTF-8 by default; undefined if the runtime does not support the charset. */
export function decodeText(bytes: Uint8Array, contentType: string | null): string | undefined {
  const label = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? "")?.[1];
  if (label === undefined || /^utf-?8$/i.test(label)) return utf8.decode(bytes);
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return undefined;
  }
}
