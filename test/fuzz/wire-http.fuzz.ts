/** Mutated responses over real sockets: JSON, event streams, statuses, sessions and broken connections, in any order. */
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { createToolport } from "toolport";
import { canonicalJson } from "../../packages/base/src/util/canonical-json.js";
import { type SeenRequest, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { MemoryWorld } from "../support/memory-world.js";
import { clientScript, expectHealed, QUICK, RECONNECT, runClientScript, SERVER } from "./client-script.js";
import { fuzzTogether } from "./fuzz-model.js";
import { exchange } from "./http-arbitraries.js";
import { answerPlan } from "./wire-arbitraries.js";

const scenario = fc.record({
  era: fc.constantFrom("legacy" as const, "modern" as const),
  type: fc.constantFrom("http" as const, "auto" as const),
  plans: fc.array(fc.tuple(exchange, answerPlan), { maxLength: 14, size: "+1" }),
  steps: clientScript,
});

fuzzTogether("wire over HTTP", scenario, async ({ era, type, plans, steps }) => {
  const left = [...plans];
  const world = new MemoryWorld({ era });
  const answer = ({ method, message }: SeenRequest, response: ServerResponse): unknown => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.method === undefined || message.id === undefined) return response.writeHead(202).end();
    const request = { id: message.id, method: message.method, params: message.params ?? {} };
    const honest = world.honest(request) as Record<string, unknown> | undefined;
    const [respond, plan] = left.shift() ?? [];
    if (respond === undefined || plan === undefined)
      return response.writeHead(200, { "content-type": "application/json" }).end(canonicalJson(honest));
    const messages = plan(honest, request);
    if (messages === "die" || messages.includes("die")) return response.destroy();
    return respond(response, messages.map(canonicalJson));
  };
  const server = await startScriptedServer(answer);
  const toolport = createToolport({
    ...QUICK,
    mcpServers: { [SERVER]: { type, url: `${server.url}/mcp`, reconnect: RECONNECT } },
  });
  const kill = () => {
    for (const socket of server.sockets) socket.destroy();
  };
  try {
    await runClientScript(toolport, steps, kill);
    left.length = 0;
    await expectHealed(toolport);
  } finally {
    await toolport.close();
    await server.close();
  }
});
