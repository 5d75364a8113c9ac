/** A reverse proxy on 127.0.0.1 that records headers. */
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface RecordingProxy extends AsyncDisposable {
  readonly origin: string;
  readonly seen: { readonly method: string; readonly headers: IncomingHttpHeaders }[];
}

/** Forwards everything to `target`, including streams. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const seen: RecordingProxy["seen"] = [];
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, response) => {
    const { method = "GET", url: path, headers } = incoming;
    seen.push({ method, headers });
    const outgoing = request({
      hostname,
      port,
      method,
      path,
      headers: { ...headers, host: `${hostname}:${port}` },
    });
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
