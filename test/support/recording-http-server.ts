/** An HTTP server that records every request, for tests that expect none. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface RecordingHttpServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly origin: string;
  /** Method, path, headers and body of every request so far. */
  readonly requests: readonly string[];
  /** Number of connections so far, including those without a request. */
  readonly connections: number;
}

/** Responds to every request with 404. */
export async function startRecordingHttpServer(): Promise<RecordingHttpServer> {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    requests.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`);
    response.writeHead(404).end();
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
