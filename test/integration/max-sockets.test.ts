/** Calls that wait because all sockets to their server are in use. */
import type { ServerResponse } from "node:http";
import { createToolport, type ToolCallError } from "toolport";
import { afterEach, expect, it } from "vitest";
import { type FaultHttpOptions, startFaultServer } from "../fixtures/servers/fault-http.js";
import { openEvents, result, sendJson } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server whose tool `bad` answers when the test says so. */
async function start(options: FaultHttpOptions = {}) {
  const waiting: (() => void)[] = [];
  const server = await startFaultServer({
    bad: ({ message }, response) => {
      waiting.push(() =>
        sendJson(response, result(message?.id, { content: [{ type: "text", text: "late" }] })),
      );
    },
    ...options,
  });
  closing.push(() => server.close());
  const finishAll = () => {
    for (const finish of waiting.splice(0)) finish();
  };
  return { server, waiting, finishAll };
}

function open(url: string, options: Parameters<typeof createToolport>[0] & object) {
  const toolport = createToolport({ mcpServers: { it: { url } }, ...options });
  closing.push(() => toolport.close());
  return toolport;
}

it("parallel calls share the allowed sockets", async () => {
  const { server, waiting } = await start();
  const toolport = open(server.entry.url, { maxSockets: 4 });
  await toolport.connect();
  const calls = Array.from({ length: 60 }, () => toolport.callTool("it__bad"));
  let most = 0;
  for (let done = 0; done < calls.length; done += 1) {
    await waitFor(() => waiting.length > 0);
    most = Math.max(most, server.sockets.size);
    waiting.shift()!();
  }
  expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(calls.map(() => "late"));
  // The listening stream of the connection may use one more.
  expect(most).toBeLessThanOrEqual(5);
});

it("a call that waits for a socket keeps its deadline, counts as unsent and is never sent", async () => {
  const { server, waiting, finishAll } = await start();
  const toolport = open(server.entry.url, { maxSockets: 1 });
  await toolport.connect();
  const first = toolport.callTool("it__bad");
  await waitFor(() => waiting.length === 1);
  const error = await failure<ToolCallError>(toolport.callTool("it__fine", {}, { timeoutMs: 50 }));
  expect(error).toMatchObject({ code: "TIMEOUT", outcome: "unsent", phase: "queue", server: "it" });
  expect(error.next).toContain("maxSockets");
  const controller = new AbortController();
  const aborted = failure<Error>(toolport.callTool("it__fine", {}, { signal: controller.signal }));
  controller.abort(new Error("changed my mind"));
  expect((await aborted).message).toBe("changed my mind");
  finishAll();
  expect((await first).text).toBe("late");
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
  expect(server.asked("fine")).toBe(1);
  // The server gets no cancellation for a request that it never received.
  expect(server.seen.filter(({ message }) => message?.method === "notifications/cancelled")).toEqual([]);
});

it("user input reaches the server although the call holds the only socket", async () => {
  let stream: { response: ServerResponse; id: string | number | undefined } | undefined;
  const { server } = await start({
    bad: ({ message }, response) => {
      openEvents(response);
      stream = { response, id: message?.id };
      const params = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
      const question = { jsonrpc: "2.0", id: "q1", method: "elicitation/create", params };
      response.write(`data: ${JSON.stringify(question)}\n\n`);
    },
    before: ({ message }, response) => {
      if (message?.id !== "q1") return false;
      response.writeHead(202).end();
      const content = [{ type: "text", text: "answered" }];
      stream?.response.end(`data: ${JSON.stringify(result(stream.id, { content }))}\n\n`);
      return true;
    },
  });
  const toolport = open(server.entry.url, {
    maxSockets: 1,
    onElicitation: () => ({ action: "accept", content: {} }),
  });
  expect((await toolport.callTool("it__bad")).text).toBe("answered");
});

it("the listening stream takes no socket from calls", async () => {
  const { server } = await start({ listen: (_request, response) => openEvents(response) });
  const toolport = open(server.entry.url, { maxSockets: 1 });
  await toolport.connect();
  await waitFor(() => server.seen.some(({ method }) => method === "GET"));
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
});

it("the number of a server overrides that of the port", async () => {
  const { server, waiting, finishAll } = await start();
  const toolport = open("", {
    mcpServers: { it: { ...server.entry, maxSockets: 2 } },
    maxSockets: 1,
  });
  await toolport.connect();
  const calls = [toolport.callTool("it__bad"), toolport.callTool("it__bad")];
  await waitFor(() => waiting.length === 2);
  finishAll();
  await Promise.all(calls);
});

it.each([0, -1, 1.5, "many"])("maxSockets: %s is refused", (maxSockets) => {
  expect(() => createToolport({ maxSockets: maxSockets as number })).toThrow(/maxSockets/);
});
