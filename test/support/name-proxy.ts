/** A proxy that resolves every host name to 127.0.0.1 and records its requests. */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { joinSockets } from "./join-sockets.js";

export interface NameProxy extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** Requests: method, target and header fields. */
  readonly seen: {
    readonly method: string;
    readonly target: string;
    readonly headers: IncomingHttpHeaders;
  }[];
  /** Status of the response to CONNECT. @default 200 */
  status: number;
  /** Number of open connections. */
  readonly open: number;
}

export async function startNameProxy(): Promise<NameProxy> {
  const sockets = new Set<Socket>();
  const seen: NameProxy["seen"] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    seen.push({ method, target: url, headers });
    const { port, pathname, search } = new URL(url);
    // Hop-by-hop fields are not forwarded.
    const { "proxy-authorization": _, ...fields } = headers;
    const inner = httpRequest(
      { host: "127.0.0.1", port, path: `${pathname}${search}`, method, headers: fields },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    inner.on("error", () => response.writeHead(502).end());
    response.on("close", () => inner.destroy());
    request.pipe(inner);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("connect", (request, socket: Socket) => {
    const { url = "", headers } = request;
    seen.push({ method: "CONNECT", target: url, headers });
    if (proxy.status !== 200) return socket.end(`HTTP/1.1 ${proxy.status} No\r\n\r\n`);
    const behind = connect(Number(url.slice(url.lastIndexOf(":") + 1)), "127.0.0.1");
    behind.once("connect", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    joinSockets(socket, behind);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const proxy: NameProxy = {
    url: `http://${host}`,
    host,
    seen,
    status: 200,
    get open() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}
