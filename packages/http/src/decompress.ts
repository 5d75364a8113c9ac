/** Decompresses bodies of servers that ignore `accept-encoding: identity`. */
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ConnectionError } from "@toolport/base";
import type { ResponseBody, WireResponse } from "./wire-client.js";

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

/** Undoes `content-encoding`. Decompresses only as fast as the body is read, so a size limit also stops a zip bomb. */
export function decompress(response: WireResponse): WireResponse {
  const encoding = response.headers.get("content-encoding")?.trim().toLowerCase();
  if (encoding === undefined || encoding === "" || encoding === "identity") return response;
  if (!Object.hasOwn(DECODERS, encoding)) {
    response.body.cancel();
    throw new ConnectionError({
      code: "BAD_RESPONSE",
      what: "The server sent a body in an unsupported encoding",
      next: "Configure the server to honour `accept-encoding: identity`",
      status: response.status,
    });
  }
  return { ...response, body: decoded(response, encoding as keyof typeof DECODERS) };
}

function decoded({ body, status }: WireResponse, encoding: keyof typeof DECODERS): ResponseBody {
  const decoder = DECODERS[encoding]();
  return {
    pipe(sink) {
      decoder.on("data", (chunk: Uint8Array) => {
        if (!sink.chunk(chunk)) decoder.pause();
      });
      decoder.once("end", () => sink.end());
      decoder.once("error", (cause) => {
        body.cancel();
        sink.fail(
          new ConnectionError({
            code: "BAD_RESPONSE",
            what: "The compressed body is damaged",
            status,
            cause,
          }),
        );
      });
      decoder.on("drain", () => body.resume());
      body.pipe({
        chunk: (bytes) => decoder.write(bytes),
        end: () => decoder.end(),
        fail(error) {
          decoder.destroy();
          sink.fail(error);
        },
      });
    },
    resume: () => void decoder.resume(),
    cancel() {
      decoder.removeAllListeners("data");
      decoder.removeAllListeners("end");
      decoder.destroy();
      body.cancel();
    },
  };
}
