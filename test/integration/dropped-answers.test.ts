/** Answers that belong to no open request are counted, reported once per connection, and change nothing else. */
import { createToolport } from "toolport";
import { expect, test } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { event, openEvents, result } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { MemoryWorld } from "../support/memory-world.js";
import { waitFor } from "../support/wait-for.js";

function open(answer: ConstructorParameters<typeof MemoryWorld>[0]["answer"]) {
  const world = new MemoryWorld({ era: "legacy", ...(answer && { answer }) });
  const toolport = createToolport({ mcpServers: { it: { transport: world.connect } } });
  const warnings: string[] = [];
  toolport.on("warning", ({ server, message }) => warnings.push(`${server}: ${message}`));
  const dropped = () => toolport.snapshot().servers["it"]?.droppedAnswers;
  return { world, toolport, warnings, dropped };
}

test("counts an answer with an unknown id, and a second answer", async () => {
  const { world, toolport, warnings, dropped } = open((request, it) => {
    const answer = it.honest(request);
    // Every call is answered twice.
    if (request.method === "tools/call") it.say(answer);
    return answer;
  });
  await toolport.connect();
  expect(dropped()).toBe(0);
  expect((await toolport.callTool("it__echo", { text: "one" })).text).toBe("one");
  expect((await toolport.callTool("it__echo", { text: "two" })).text).toBe("two");
  await waitFor(() => dropped() === 2);
  for (const id of ["toolport-99999", "unknown-id", 7, null]) world.say({ jsonrpc: "2.0", id, result: {} });
  await waitFor(() => dropped() === 6);
  expect(warnings).toEqual([expect.stringMatching(/^it: .*no open request \(id toolport-\d+\).*dropped/)]);
  await toolport.close();
});

test("each connection counts and reports separately", async () => {
  const { world, toolport, warnings, dropped } = open(undefined);
  await toolport.connect();
  world.say({ jsonrpc: "2.0", id: "unknown-id", result: {} });
  await waitFor(() => dropped() === 1);
  await toolport.disconnect("it");
  await toolport.connectServer("it");
  expect(dropped()).toBe(0);
  world.say({ jsonrpc: "2.0", id: "\u001b[31m", error: { code: 1, message: "x" } });
  await waitFor(() => dropped() === 1);
  expect(warnings).toHaveLength(2);
  expect(warnings[1]).toContain("(id unreadable)");
  await toolport.close();
});

test("does not count the late answer to a cancelled request", async () => {
  const late: unknown[] = [];
  const { world, toolport, warnings, dropped } = open((request, it) => {
    if (request.method !== "tools/call") return it.honest(request);
    late.push(it.honest({ ...request, params: { name: "echo", arguments: { text: "late" } } }));
    return undefined;
  });
  await toolport.connect();
  expect(await failure(toolport.callTool("it__echo", {}, { timeoutMs: 20 }))).toMatchObject({
    code: "TIMEOUT",
  });
  const abort = new AbortController();
  const aborted = failure(toolport.callTool("it__echo", {}, { signal: abort.signal }));
  await waitFor(() => late.length === 2);
  abort.abort();
  await aborted;
  const client = await toolport.client("it");
  await failure(client.callTool({ name: "echo", arguments: {} }, { timeout: 20 }));
  expect(late).toHaveLength(3);
  for (const answer of late) world.say(answer);
  await toolport.ping("it");
  expect(dropped()).toBe(0);
  // A second late answer counts.
  for (const answer of late) world.say(answer);
  await waitFor(() => dropped() === 3);
  expect(warnings).toHaveLength(1);
  await toolport.close();
});

test("over HTTP, an answer to another request in the stream of this one is dropped", async () => {
  const server = await startFaultServer({
    bad: ({ message }, response) => {
      openEvents(response);
      response.end(event(result("unknown-id")) + event(result(message?.id, { content: [] })));
    },
  });
  const toolport = createToolport({ mcpServers: { it: server.entry } });
  await toolport.connect();
  expect((await toolport.callTool("it__bad")).content).toEqual([]);
  expect(toolport.snapshot().servers["it"]?.droppedAnswers).toBe(1);
  await toolport.close();
  await server.close();
});
