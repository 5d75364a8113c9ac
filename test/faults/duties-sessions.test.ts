/** A session id is a secret, and does not identify a user. */
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { openEvents, type Script, sendJson, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { waitFor } from "../support/wait-for.js";
import { faultCase } from "./fault-case.js";

const LOUD = { logEvents: true, logRequests: true, logResponses: true } as const;

/** Echoes the request, as some servers do in their errors. */
const ECHOES: Record<string, Script> = {
  "404 that repeats it": ({ headers }, response) =>
    response.writeHead(404).end(`No session ${headers["mcp-session-id"]}`),
  "400 that repeats it": ({ headers }, response) =>
    response.writeHead(400).end(`Bad session ${headers["mcp-session-id"]}`),
  "500 that repeats it": ({ headers }, response) =>
    response.writeHead(500).end(`Crashed in ${headers["mcp-session-id"]}`),
  "an error that repeats it": ({ headers, message }, response) => {
    const error = { code: -32_602, message: "Bad", data: { sessionId: headers["mcp-session-id"] } };
    return sendJson(response, { jsonrpc: "2.0", id: message?.id, error }, { status: 400 });
  },
  "a page that repeats it": ({ headers }, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end(`<b>${headers["mcp-session-id"]}</b>`),
};

for (const [how, bad] of Object.entries(ECHOES)) {
  faultCase("S27", `in no log and no error: ${how}`, async (harness) => {
    const unknownSession: Script = (_request, response) => response.writeHead(404).end();
    const server = harness.keep(await startFaultServer({ unknownSession, bad }));
    const toolport = harness.open({ it: { ...server.entry, ...LOUD } });
    toolport.on("state", (change) => harness.note(change));
    toolport.on("notification", (notification) => harness.note(notification));
    harness.note(await toolport.connect());
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    // Only the server gets the session id; the `data` of its errors is passed on unchanged.
    await toolport
      .callTool("it__bad", {}, { timeoutMs: 1_500 })
      .catch((error: Error & { data?: unknown }) => {
        harness.note(how === "an error that repeats it" ? error.message : error);
      });
    expect(server.sessionIds.length).toBeGreaterThan(0);
    for (const id of server.sessionIds) harness.secret(id);
    expect(harness.logged.length).toBeGreaterThan(0);
  });
}

faultCase("S27", "in no log and no error: the message endpoint of HTTP+SSE", async (harness) => {
  const session = harness.secret();
  const server = harness.keep(
    await startScriptedServer(({ method, path }, response) => {
      if (method === "POST") return response.writeHead(500).end(`Crashed at ${path}`);
      openEvents(response);
      return response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`);
    }),
  );
  const toolport = harness.open({ it: { transport: "sse", url: `${server.url}/sse`, ...LOUD } });
  harness.note(await toolport.connect());
  await harness.fails(toolport.callTool("it__fine"), { code: "HTTP_STATUS", server: "it", withinMs: 5_000 });
  expect(server.seen.some(({ path }) => path.includes(session))).toBe(true);
});

faultCase(
  "S27",
  "every user has a separate session, and each request carries that user's token",
  async (harness) => {
    const unknownSession: Script = (_request, response) => response.writeHead(404).end();
    const server = harness.keep(await startFaultServer({ unknownSession }));
    const toolport = harness.open({ it: { ...server.entry, ...LOUD } });
    const users = ["ada", "bob", "cyd"].map((name) =>
      toolport.as(name, { headers: { authorization: `Bearer ${harness.secret()}` } }),
    );
    for (let round = 0; round < 3; round += 1)
      await Promise.all(users.map((user) => user.callTool("it__fine")));
    const tokensOf = new Map<string, Set<unknown>>();
    for (const { headers } of server.seen) {
      const session = headers["mcp-session-id"];
      if (session === undefined) continue;
      const tokens = tokensOf.get(String(session)) ?? new Set();
      tokensOf.set(String(session), tokens.add(headers.authorization));
    }
    const owners = [...tokensOf.values()].map((tokens) => [...tokens].join());
    // The port itself may have a session, too, without a token.
    expect(owners.filter((owner) => owner !== "")).toHaveLength(users.length);
    expect(new Set(owners).size).toBe(owners.length);
  },
);

faultCase("S27", "the session is ended on close", async (harness) => {
  const unknownSession: Script = (_request, response) => response.writeHead(404).end();
  const server = harness.keep(await startFaultServer({ unknownSession }));
  const toolport = harness.open({ it: server.entry });
  await toolport.callTool("it__fine");
  await toolport.disconnect("it");
  await waitFor(() => server.seen.some(({ method }) => method === "DELETE"), { label: "the DELETE" });
  const [ended] = server.seen.filter(({ method }) => method === "DELETE");
  expect(ended?.headers["mcp-session-id"]).toBe(server.sessionIds[0]);
});
