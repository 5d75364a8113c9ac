/**
 * Toolport's gateway as the benchmark starts it, with everything on that a deployment uses: access tokens, a policy and an audit file.
 *
 * It reports on request how many operations its store has had and how large its heap is.
 */
import http from "node:http";
import process from "node:process";
import { getRequestListener } from "@hono/node-server";
import { createGateway, readPolicy } from "../../packages/toolport/dist/gateway/index.js";
import { createToolport, memoryStore } from "../../packages/toolport/dist/index.js";

const { upstreams, entry, auth, audit } = JSON.parse(process.argv[2]);

let storeOperations = 0;
const store = new Proxy(memoryStore(), {
  get(target, name) {
    const value = target[name];
    if (typeof value !== "function") return value;
    return (...args) => {
      storeOperations += 1;
      return value.apply(target, args);
    };
  },
});

const toolport = createToolport({ mcpServers: upstreams, store });
const gateway = createGateway(toolport, {
  auth,
  audit,
  policy: await readPolicy(
    {
      default: "allow",
      rules: [
        { effect: "deny", server: "payments", tool: "delete_*" },
        { effect: "deny", user: { subject: "guest-*" } },
        { effect: "allow", scope: "tools:use" },
      ],
    },
    { knownServers: ["payments"] },
  ),
});

/** The least that serves `fetch` handlers on Node. */
function serveFetch(request, response) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    const url = `http://${request.headers.host}${request.url}`;
    const { method, headers } = request;
    const body = chunks.length === 0 ? undefined : Buffer.concat(chunks);
    const answer = await gateway.fetch(new Request(url, { method, headers, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
}

const handlers = {
  node: (request, response) => gateway.node(request, response),
  fetch: serveFetch,
  adapter: getRequestListener((request) => gateway.fetch(request)),
};
const server = http.createServer({ keepAliveTimeout: 60_000 }, handlers[entry]);
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));

process.on("message", () => {
  globalThis.gc?.();
  globalThis.gc?.();
  process.send({
    storeOperations,
    heapBytes: process.memoryUsage().heapUsed,
    rssBytes: process.memoryUsage.rss(),
  });
});
process.on("disconnect", async () => {
  server.close();
  server.closeAllConnections();
  await gateway.close({ drainMs: 0 });
  await toolport.close();
  process.exit(0);
});
