/** Servers that lose a session, with every status that reports it. */
import type { ConnectionError } from "toolport";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { type Script, sendJson } from "../fixtures/servers/http-scripted.js";
import { waitFor } from "../support/wait-for.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

const BOUND_MS = 2_000;
const CALLS = 20;

const plain =
  (status: number): Script =>
  (_request, response) =>
    response.writeHead(status, { "content-type": "text/plain" }).end("Unauthorized: Session not found");

const rpc =
  (code: number, status = 200): Script =>
  ({ message }, response) => {
    const error = { code, message: "Session not found" };
    return sendJson(response, { jsonrpc: "2.0", id: message?.id ?? null, error }, { status });
  };

/** The server refused the request: it cannot have run. */
const TURNED_AWAY: Record<string, Script> = {
  "404": plain(404),
  "404 with a JSON-RPC error": rpc(-32_001, 404),
};

/** The request may have run. */
const UNCLEAR: Record<string, Script> = {
  "400": plain(400),
  "400 with -32000": rpc(-32_000, 400),
  "410": plain(410),
  "-32001": rpc(-32_001),
  "-32600": rpc(-32_600),
};

async function begin(harness: FaultHarness, unknownSession: Script) {
  const server = harness.keep(await startFaultServer({ unknownSession }));
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  // The stream of notifications opens in the background. If the server forgets the session before that, the stream reports
  // it first, and calls in flight fail: that is another case.
  await waitFor(() => server.seen.some(({ method }) => method === "GET"));
  expect(server.asked("initialize")).toBe(1);
  return { server, toolport };
}

for (const [how, refusal] of Object.entries(TURNED_AWAY)) {
  faultCase("N01", `${how}: one handshake for ${CALLS} calls, and all of them run once`, async (harness) => {
    const { server, toolport } = await begin(harness, refusal);
    server.forget();
    const calls = Array.from({ length: CALLS }, () => toolport.callTool("it__fine"));
    const results = await harness.within(BOUND_MS, Promise.all(calls));
    expect(results.map(({ text }) => text)).toEqual(Array(CALLS).fill("fine"));
    expect(server.asked("fine")).toBe(CALLS);
    expect(server.asked("initialize")).toBe(2);
  });
}

for (const [how, refusal] of Object.entries(UNCLEAR)) {
  faultCase("N01", `${how}: calls fail retryable, one handshake, the next call works`, async (harness) => {
    const { server, toolport } = await begin(harness, refusal);
    server.forget();
    const failures = await Promise.all(
      Array.from({ length: CALLS }, () =>
        harness.fails<ConnectionError>(toolport.callTool("it__fine"), {
          code: ["SESSION_LOST", "PROTOCOL"],
          server: "it",
          withinMs: BOUND_MS,
        }),
      ),
    );
    for (const { retryable, outcome } of failures)
      expect({ retryable, outcome }).toEqual({ retryable: true, outcome: "unknown" });
    expect((await harness.within(BOUND_MS, toolport.callTool("it__fine"))).text).toBe("fine");
    expect(server.asked("fine")).toBe(1);
    expect(server.asked("initialize")).toBe(2);
  });

  faultCase("N01", `${how}: reads and idempotent calls are sent again`, async (harness) => {
    const { server, toolport } = await begin(harness, refusal);
    server.forget();
    const again = toolport.callTool("it__fine", {}, { idempotent: true });
    const [, { text }] = await harness.within(BOUND_MS, Promise.all([toolport.refresh("it"), again]));
    expect(text).toBe("fine");
    expect(server.asked("initialize")).toBe(2);
  });
}

for (const how of ["404", "400", "-32600"]) {
  faultCase("N01", `${how} for every session: no loop`, async (harness) => {
    const { server, toolport } = await begin(harness, { ...TURNED_AWAY, ...UNCLEAR }[how]!);
    const { script } = server;
    server.script = (request, response) => {
      server.forget();
      return script(request, response);
    };
    const before = server.seen.length;
    await harness.fails(toolport.callTool("it__fine", {}, { timeoutMs: 800, idempotent: true }), {
      code: ["SESSION_LOST", "PROTOCOL", "TIMEOUT"],
      server: "it",
      withinMs: BOUND_MS,
    });
    // Each attempt is a handshake of a few messages, after a random wait that grows. A loop would be hundreds.
    expect(server.asked("initialize")).toBeLessThanOrEqual(10);
    expect(server.seen.length - before).toBeLessThanOrEqual(50);
  });
}

for (const [status, code, state] of [
  [401, "AUTH_REQUIRED", "authenticating"],
  [403, "FORBIDDEN", "ready"],
] as const) {
  faultCase(
    "N01",
    `${status} without a challenge is not about the session: no request is sent again`,
    async (harness) => {
      const { server, toolport } = await begin(harness, plain(status));
      server.forget();
      const before = server.seen.filter(({ method }) => method === "POST").length;
      const calls = Array.from({ length: CALLS }, (_, index) =>
        harness.fails(toolport.callTool("it__fine", {}, { idempotent: index % 2 === 0 }), {
          code,
          server: "it",
          withinMs: BOUND_MS,
        }),
      );
      for (const error of await Promise.all(calls))
        expect(error).toMatchObject({ status, outcome: "unsent" });
      expect(server.seen.filter(({ method }) => method === "POST").length - before).toBe(CALLS);
      expect(server.asked("initialize")).toBe(1);
      expect(toolport.snapshot().servers["it"]?.state).toBe(state);
    },
  );
}

faultCase("N01", "401 with a challenge that is not about the token", async (harness) => {
  const server = harness.keep(await startFaultServer({ unknownSession: plain(404) }));
  const token = harness.secret();
  const toolport = harness.open({ it: { ...server.entry, headers: { authorization: `Bearer ${token}` } } });
  await toolport.connect();
  server.script = plain(401);
  await harness.fails(toolport.callTool("it__fine"), {
    code: "AUTH_REQUIRED",
    server: "it",
    withinMs: 3_000,
  });
  expect(toolport.snapshot().servers["it"]?.state).toBe("authenticating");
});

faultCase("N01", "the listening stream reports it first", async (harness) => {
  let streams = 0;
  const server = harness.keep(
    await startFaultServer({
      unknownSession: plain(404),
      listen: (_request, response) => {
        streams += 1;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.flushHeaders();
        // The server restarts: its stream ends, and its sessions are gone.
        if (streams === 1) setTimeout(() => response.end("retry: 100\n\n"), 50);
      },
    }),
  );
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  server.forget();
  expect((await harness.within(BOUND_MS, toolport.callTool("it__fine"))).text).toBe("fine");
  expect(server.asked("initialize")).toBe(2);
});
