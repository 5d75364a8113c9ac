/** HTTP of this machine: a listener on loopback, and requests and responses of the web platform on it. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

export async function listenOnLoopback(server: Server, port = 0) {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  let closing: Promise<void> | undefined;
  return {
    /** Host and port. */
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    dropConnections: () => server.closeAllConnections(),
    close(): Promise<void> {
      closing ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return closing;
    },
  };
}

/** Reads the whole body first. The signal of the request aborts when the client disconnects before the response is sent. */
export async function toWebRequest(request: IncomingMessage, response: ServerResponse): Promise<Request> {
  const disconnected = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) disconnected.abort();
  });
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return new Request(new URL(request.url ?? "/", `http://${request.headers.host ?? "127.0.0.1"}`), {
    method: request.method ?? "GET",
    headers,
    signal: disconnected.signal,
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  });
}

/** Streams the response. A client that disconnects ends the stream without an error. */
export async function sendWebResponse(source: Response, response: ServerResponse): Promise<void> {
  response.writeHead(source.status, Object.fromEntries(source.headers));
  response.flushHeaders();
  if (source.body === null) {
    response.end();
    return;
  }
  await pipeline(Readable.fromWeb(source.body as ReadableStream), response).catch(() => {});
}
