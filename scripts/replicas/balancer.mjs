/** A load balancer without stickiness: every request goes to the next replica; one that refuses the connection is skipped. */
import { once } from "node:events";
import { createServer, request as send } from "node:http";

/** A request that finds no replica waits this long for one. */
const WAIT_MS = 5_000;

/**
 * @param replicas objects with a `port`; the list may change at any time
 * @param onForward called with the value of the header `x-call` and the replica that got the request
 */
export async function startBalancer(replicas, onForward = () => {}) {
  let turn = 0;

  function forward(incoming, response, body, tries, until) {
    const replica = replicas[turn++ % replicas.length];
    const { method, url: path, headers } = incoming;
    const outgoing = send({
      host: "127.0.0.1",
      port: replica?.port ?? 1,
      method,
      path,
      headers,
      agent: false,
    });
    const abort = () => outgoing.destroy();
    response.once("close", abort);
    outgoing.once("socket", (socket) => socket.once("connect", () => onForward(headers["x-call"], replica)));
    outgoing.once("error", ({ code }) => {
      response.off("close", abort);
      // Only a refused connection is safe: the replica did not get the request.
      if (code !== "ECONNREFUSED" || response.destroyed) {
        onForward(headers["x-call"], replica);
        return response.destroy();
      }
      if (tries > 1) return forward(incoming, response, body, tries - 1, until);
      if (performance.now() > until) return response.writeHead(503).end();
      setTimeout(() => forward(incoming, response, body, replicas.length, until), 50);
    });
    outgoing.once("response", (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.once("close", () => answer.complete || response.destroy());
    });
    outgoing.end(body);
  }

  const listener = createServer((incoming, response) => {
    const chunks = [];
    incoming.on("data", (chunk) => chunks.push(chunk));
    incoming.on("end", () =>
      forward(incoming, response, Buffer.concat(chunks), replicas.length, performance.now() + WAIT_MS),
    );
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  return {
    port: listener.address().port,
    async close() {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
