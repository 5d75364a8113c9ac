/** Responses that break off, come from another program, or say that the server is busy. */
import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { ConnectionError } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import {
  openEvents,
  result,
  type Script,
  type SeenRequest,
  sendJson,
} from "../fixtures/servers/http-scripted.js";
import { waitFor } from "../support/wait-for.js";
import { AS_WRITTEN, faultCase } from "./fault-case.js";

const CUT_MS = 2_000;
/** The catalogue says 1 s; a busy machine gets three times that. */
const AT_ONCE_MS = 3_000;

const answer = ({ message }: SeenRequest, text = "fine") =>
  JSON.stringify(result(message?.id, { content: [{ type: "text", text }] }));

const reset = (response: ServerResponse) => setImmediate(() => response.socket?.resetAndDestroy());

const BREAKS: Record<string, Script> = {
  "reset before the headers": (_request, response) => reset(response),
  "reset in the middle of JSON": (request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write(answer(request).slice(0, 20), () => reset(response));
  },
  "reset in the middle of chunked JSON": (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(answer(request).slice(0, 20), () => reset(response));
  },
  "reset in the middle of an event": (request, response) => {
    openEvents(response);
    response.write(`data: ${answer(request).slice(0, 20)}`, () => reset(response));
  },
  "event stream ends without an event": (_request, response) => {
    openEvents(response);
    response.end(": soon\n\n");
  },
  "event stream ends in the middle of an event": (request, response) => {
    openEvents(response);
    response.end(`data: ${answer(request).slice(0, 20)}`);
  },
};

for (const era of ["legacy", "modern"] as const) {
  for (const [how, bad] of Object.entries(BREAKS)) {
    faultCase("N03", `${how}, ${era}`, async (harness) => {
      const server = harness.keep(await startFaultServer({ era, bad }));
      const toolport = harness.open({ it: server.entry });
      await toolport.connect();
      const error = await harness.fails(toolport.callTool("it__bad"), {
        code: ["STREAM_CUT", "UNREACHABLE"],
        server: "it",
        tool: "bad",
        withinMs: CUT_MS,
      });
      expect(error).toMatchObject({ retryable: true, outcome: "unknown" });
      expect(server.asked("bad")).toBe(1);
      expect((await toolport.callTool("it__fine")).text).toBe("fine");
    });
  }
}

faultCase("N03", "event stream with ids ends: the client resumes with Last-Event-ID", async (harness) => {
  let asking: SeenRequest | undefined;
  const server = harness.keep(
    await startFaultServer({
      bad: (request, response) => {
        asking = request;
        openEvents(response);
        response.write("id: 7\nretry: 100\ndata:\n\n", () => reset(response));
      },
      listen: ({ headers }, response) => {
        if (headers["last-event-id"] !== "7") return response.writeHead(405).end();
        openEvents(response);
        return response.end(`data: ${answer(asking as SeenRequest, "resumed")}\n\n`);
      },
    }),
  );
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  expect((await harness.within(CUT_MS, toolport.callTool("it__bad"))).text).toBe("resumed");
  expect(server.asked("bad")).toBe(1);
});

for (const kind of ["sse", "webSocket"] as const) {
  faultCase("N03", `${kind}: the connection is cut during a call`, async (harness) => {
    const hang = { handler: () => new Promise<string>(() => {}) };
    const fine = { handler: () => "fine" };
    const server = harness.keep(createTestServer({ tools: { hang, fine } }));
    const listening = await server[kind]();
    const toolport = harness.open({ it: listening.entry });
    await toolport.connect();
    const call = toolport.callTool("it__hang");
    call.catch(() => {});
    await waitFor(() => server.calls.length === 1);
    listening.dropConnections();
    const error = await harness.fails(call, {
      code: ["STREAM_CUT", "CLOSED"],
      server: "it",
      withinMs: CUT_MS,
    });
    expect(error).toMatchObject({ retryable: true, outcome: "unknown" });
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    expect(server.calls.filter(({ name }) => name === "hang")).toHaveLength(1);
  });
}

const busy =
  (status: number, retryAfter: string, times: number): Script =>
  (request, response) => {
    times -= 1;
    if (times < 0) return sendJson(response, answer(request));
    return response.writeHead(status, { "retry-after": retryAfter }).end("later");
  };

for (const status of [429, 503]) {
  for (const [what, retryAfter, leastMs] of [
    ["1", () => "1", 1_000],
    ["a date", () => new Date(Date.now() + 2_000).toUTCString(), 900],
  ] as const) {
    faultCase("N07", `${status}, Retry-After ${what}: the call waits and then works`, async (harness) => {
      const server = harness.keep(await startFaultServer({ bad: (...given) => script(...given) }));
      // Without Retry-After the wait would be very short.
      const toolport = harness.open({ it: server.entry }, { retry: { baseMs: 1 } });
      await toolport.connect();
      // Computed here: a date that passes while the port connects would cause no wait.
      const script = busy(status, retryAfter(), 1);
      const began = performance.now();
      expect((await toolport.callTool("it__bad")).text).toBe("fine");
      expect(performance.now() - began).toBeGreaterThanOrEqual(leastMs);
      expect(server.asked("bad")).toBe(2);
    });
  }

  // A 503 without a valid Retry-After asks for no retry, and does not prove that the call did not run.
  const unnamed =
    status === 429 ? { sends: 3, outcome: "unsent" as const } : { sends: 1, outcome: "unknown" as const };
  for (const retryAfter of ["-1", "soon", "1.5", ""]) {
    faultCase("N07", `${status}, Retry-After "${retryAfter}": ${unnamed.sends} send(s)`, async (harness) => {
      const server = harness.keep(await startFaultServer({ bad: busy(status, retryAfter, 99) }));
      const toolport = harness.open({ it: server.entry }, { retry: { baseMs: 20 } });
      await toolport.connect();
      const error = await harness.fails<ConnectionError>(toolport.callTool("it__bad"), {
        code: "HTTP_STATUS",
        server: "it",
        withinMs: AT_ONCE_MS,
      });
      const { outcome, sends } = unnamed;
      expect(error).toMatchObject({ status, retryable: true, outcome, retryAfterMs: undefined });
      expect(server.asked("bad")).toBe(sends);
    });
  }
}

faultCase(
  "N07",
  "Retry-After 999999: 30 s at most, and never beyond the timeout of the call",
  async (harness) => {
    const server = harness.keep(await startFaultServer({ bad: busy(503, "999999", 1) }));
    // The wait does not fit into the timeout: the call fails without waiting.
    const toolport = harness.open({ it: server.entry }, { maxTimeoutMs: 20_000 });
    await toolport.connect();
    const error = await harness.fails<ConnectionError>(toolport.callTool("it__bad"), {
      code: "HTTP_STATUS",
      server: "it",
      withinMs: AT_ONCE_MS,
    });
    expect(error.retryAfterMs).toBe(30_000);
    expect(server.asked("bad")).toBe(1);
  },
);

faultCase(
  "N07",
  "Retry-After 999999: the call is sent again after 30 s",
  async (harness) => {
    const server = harness.keep(await startFaultServer({ bad: busy(503, "999999", 1) }));
    const toolport = harness.open({ it: server.entry });
    const began = performance.now();
    expect((await harness.within(33_000, toolport.callTool("it__bad"))).text).toBe("fine");
    expect(performance.now() - began).toBeGreaterThanOrEqual(30_000);
  },
  { skip: !AS_WRITTEN && "30 s long" },
);

faultCase("N07", "many calls: the retry budget is used up", async (harness) => {
  const server = harness.keep(await startFaultServer({ bad: busy(503, "0", 9_999) }));
  const toolport = harness.open({ it: server.entry }, { retry: { baseMs: 1 }, breaker: false });
  await toolport.connect();
  const calls = Array.from({ length: 60 }, () => toolport.callTool("it__bad"));
  const failures = await Promise.allSettled(calls);
  expect(failures.every(({ status }) => status === "rejected")).toBe(true);
  // 500 tokens at 5 per retry: 100 of the 120 retries that 60 calls would make.
  expect(server.asked("bad")).toBe(160);
});

const MIB = 1024 * 1024;
const BOMB = gzipSync(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","a":"'), Buffer.alloc(64 * MIB, "x")]));
const html = `<html><title>Sign in</title>${"x".repeat(500)}`;
const json = (charset?: string) => ({
  "content-type": `application/json${charset === undefined ? "" : `; charset=${charset}`}`,
});

type Wrong = readonly [script: Script, shown: readonly string[]];

const WRONG: Record<string, Wrong> = {
  "captive portal": [
    (_r, response) => response.writeHead(200, { "content-type": "text/html" }).end(html),
    ["HTTP 200", "text/html", html.slice(0, 200)],
  ],
  "204": [(_r, response) => response.writeHead(204).end(), ["HTTP 204"]],
  "200 without a body": [
    (_r, response) => response.writeHead(200, { ...json(), "content-length": "0" }).end(),
    ["HTTP 200", "application/json", "is empty"],
  ],
  "200 without a type": [(_r, response) => response.writeHead(200).end("?"), ["HTTP 200", "type none"]],
  "truncated JSON": [
    (request, response) => response.writeHead(200, json()).end(answer(request).slice(0, -5)),
    ["HTTP 200", "application/json", '{"jsonrpc":"2.0"'],
  ],
  "unknown character set": [
    (request, response) => response.writeHead(200, json("klingon")).end(answer(request)),
    ["HTTP 200", "charset=klingon", "unknown character set"],
  ],
  "invalid UTF-16": [
    (request, response) => response.writeHead(200, json("utf-16le")).end(answer(request)),
    ["HTTP 200", "charset=utf-16le", "not valid JSON"],
  ],
  "UTF-16 without saying so": [
    (request, response) => response.writeHead(200, json()).end(Buffer.from(answer(request), "utf16le")),
    ["HTTP 200", "application/json", "not valid JSON"],
  ],
};

for (const [what, [bad, shown]] of Object.entries(WRONG)) {
  faultCase("N08", `${what}, for a call and for the handshake`, async (harness) => {
    const server = harness.keep(await startFaultServer({ bad }));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    const expected = { code: "BAD_RESPONSE", server: "it", withinMs: AT_ONCE_MS };
    const error = await harness.fails(toolport.callTool("it__bad"), { ...expected, tool: "bad" });
    for (const part of shown) expect(error.message).toContain(part);
    expect(error.what.length).toBeLessThan(400);
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    expect(server.asked("bad")).toBe(1);

    const portal = harness.keep(await startFaultServer());
    portal.script = bad;
    await toolport.add("portal", portal.entry).catch(() => {});
    await harness.fails(toolport.callTool("portal__fine"), {
      ...expected,
      code: "BAD_RESPONSE",
      server: "portal",
    });
  });
}

faultCase("N08", "a correctly named other character set is read", async (harness) => {
  const bad: Script = (request, response) =>
    response.writeHead(200, json("iso-8859-1")).end(Buffer.from(answer(request, "Müller"), "latin1"));
  const server = harness.keep(await startFaultServer({ bad }));
  const toolport = harness.open({ it: server.entry });
  expect((await toolport.callTool("it__bad")).text).toBe("Müller");
});

for (const type of ["application/json", "text/event-stream"]) {
  faultCase("N08", `gzip bomb as ${type}`, async (harness) => {
    const bad: Script = (_request, response) =>
      response.writeHead(200, { "content-type": type, "content-encoding": "gzip" }).end(BOMB);
    const server = harness.keep(await startFaultServer({ bad }));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    await harness.fails(toolport.callTool("it__bad"), {
      code: "MESSAGE_TOO_LARGE",
      server: "it",
      withinMs: AT_ONCE_MS,
    });
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
  });
}
