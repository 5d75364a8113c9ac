/** A round-robin load balancer: every request goes to the next process. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { listenOnLoopback } from "../../packages/testing/src/serve-connection.js";

export interface LoadBalancer extends AsyncDisposable {
  readonly url: string;
  /** Ports of the processes behind it; may be changed at any time. */
  readonly ports: number[];
  /** Called with the port of the process right after it got a request. */
  onForwarded: ((port: number) => void) | undefined;
}

/** The response header with the port of the process. */
export const ANSWERED_BY = "x-answered-by";

export async function startLoadBalancer(): Promise<LoadBalancer> {
  const ports: number[] = [];
  let turn = 0;

  /** Dead processes are skipped; a request that reached a process is not sent to another. */
  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    for (let tries = 0; tries < ports.length; tries++) {
      const port = ports[turn++ % ports.length] as number;
      const { method, url: path, headers } = incoming;
      const outgoing = request({ host: "127.0.0.1", port, method, path, headers, agent: false }).end(body);
      const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
      outgoing.once("finish", () => balancer.onForwarded?.(port));
      try {
        const [answer] = await answered;
        response.writeHead(answer.statusCode ?? 502, { ...answer.headers, [ANSWERED_BY]: port });
        return await pipeline(answer, response);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") break;
      }
    }
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  }

  const listening = await listenOnLoopback(
    createServer((incoming, response) => void forward(incoming, response).catch(() => response.destroy())),
  );
  const balancer: LoadBalancer = {
    url: `http://${listening.address}`,
    ports,
    onForwarded: undefined,
    [Symbol.asyncDispose]: () => listening.close(),
  };
  return balancer;
}
