/** A proxy for names that only it can resolve: every host it is asked for is 127.0.0.1. It records what it is sent. */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { joinSockets } from "./join-sockets.js";

export interface NameProxy extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** What it was asked for: method, target and header fields. */
  readonly seen: {
    readonly method: string;
    readonly target: string;
    readonly headers: IncomingHttpHeaders;
  }[];
  /** Answers CONNECT with this status instead. @default 200 */
  status: number;
  /** Connections open now. */
  readonly open: number;
}

export async function startNameProxy(): Promise<NameProxy> {
  const sockets = new Set<Socket>();
  const seen: NameProxy["seen"] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    seen.push({ method, target: url, headers });
    const { port, pathname, search } = new URL(url);
    // Hop-by-hop fields end here.
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
