/** Processes that misbehave: stopped, noisy, half closed. A call ends in time, the next one works, nothing is left. */
import { type ConnectionError, createToolport } from "toolport";
import { describe, expect, test } from "vitest";
import { usePidFolder } from "../fixtures/stdio-peer.js";
import { failure } from "../support/failure.js";
import { checkLeaksAfterEach, waitFor } from "../support/leaks.js";
import { waitForExit } from "../support/processes.js";

// The hooks run in reverse: processes of a failed test are killed before the leak check.
checkLeaksAfterEach();
const scratch = usePidFolder();
const { lean } = scratch;

/** Records the messages of the server named `it`. */
function wiretap() {
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const logger = { debug: note, info: note, warn: note, error: note };
  const has = (direction: "->" | "<-", text: string) =>
    lines.some((line) => line.includes(direction) && line.includes(text));
  return { logger, has, lines };
}

describe("a server that is stopped during a call", () => {
  test("times out, is notified, and its late answer is dropped after it continues", async () => {
    const { logger, has } = wiretap();
    const entry = { ...lean(), logRequests: true, logResponses: true };
    await using toolport = createToolport({ mcpServers: { it: entry }, logger });
    const pid = Number((await toolport.callTool("it__pid")).text);
    process.kill(pid, "SIGSTOP");
    try {
      const call = toolport.callTool("it__echo", { text: "late" }, { timeoutMs: 200 });
      expect(await failure(call)).toMatchObject({ code: "TIMEOUT", server: "it", tool: "echo" });
      expect(has("->", "notifications/cancelled")).toBe(true);
      expect(await failure(toolport.ping("it", { timeoutMs: 100 }))).toMatchObject({ code: "TIMEOUT" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await waitFor(() => has("<-", "late"));
    // Other calls are not affected, and it is still the same process.
    expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
    expect(Number((await toolport.callTool("it__pid")).text)).toBe(pid);
    expect(scratch.pids()).toEqual([pid]);
  });
});

describe("a server that writes text that is not a message", () => {
  test.each([
    ["garbage on its standard output", ["--garbage"]],
    ["a progress display without line ends", ["--stdout-progress"]],
    ["5 MiB to stderr before it reads", [`--stderr-bytes=${5 * 1024 * 1024}`]],
  ])("%s is ready all the same", async (_what, flags) => {
    await using toolport = createToolport({ mcpServers: { it: lean(...flags) } });
    const { servers } = await toolport.connect();
    expect(servers["it"]?.error?.message ?? servers["it"]?.state).toBe("ready");
    expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
    expect(scratch.pids()).toHaveLength(1);
  });

  test("a flood on stderr is truncated: memory does not grow", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean(`--stderr-bytes=${64 * 1024 * 1024}`) } });
    const heapBefore = process.memoryUsage().rss;
    await toolport.connect();
    expect((process.memoryUsage().rss - heapBefore) / 1024 / 1024).toBeLessThan(48);
    expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
  });
});

describe("a server that closes its standard output and keeps running", () => {
  test("during a call fails it soon; the process is ended and another one answers", async () => {
    // The handshake and the list take an answer each, the call the third.
    await using toolport = createToolport({
      mcpServers: { it: lean("--close-stdout-after=2", "--ignore-eof") },
    });
    await toolport.connect();
    const call = failure<ConnectionError>(
      toolport.callTool("it__slow", { ms: 60_000 }, { timeoutMs: 20_000 }),
    );
    const error = await call;
    expect(error).toMatchObject({ name: "ConnectionError", server: "it" });
    await waitForExit(scratch.pids()[0]!);
    await waitFor(() => scratch.pids().length >= 2);
  });

  test("or whose daemon holds it open after the server exits: the exit counts", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean("--daemon-holds-stdout") } });
    await toolport.connect();
    const error = await failure<ConnectionError>(toolport.callTool("it__crash", { code: 7 }));
    expect(error).toMatchObject({ name: "ConnectionError", exitCode: 7 });
    expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
  });
});

test("a server that never reads: a call with megabytes of arguments times out, and close() ends it", async () => {
  await using toolport = createToolport({ mcpServers: { it: lean("--never-read") }, connectTimeoutMs: 400 });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({ state: "failed", error: { server: "it" } });
  await waitForExit(scratch.pids()[0]!);
});

test("a call with megabytes of arguments to a stopped server times out", async () => {
  await using toolport = createToolport({ mcpServers: { it: lean() } });
  const pid = Number((await toolport.callTool("it__pid")).text);
  process.kill(pid, "SIGSTOP");
  try {
    const text = "x".repeat(8 * 1024 * 1024);
    const error = await failure(toolport.callTool("it__echo", { text }, { timeoutMs: 300 }));
    expect(error).toMatchObject({ code: "TIMEOUT" });
  } finally {
    process.kill(pid, "SIGCONT");
  }
  expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
});

test("a crash loop: five starts in a minute and no more, other servers are not affected", async () => {
  const crashing = { ...lean("--exit=9", "--stderr=bad config"), restart: { delayMs: 1 } };
  await using toolport = createToolport({ mcpServers: { crashing, good: lean() } });
  const { servers } = await toolport.connect();
  expect(servers["crashing"]).toMatchObject({
    state: "failed",
    error: { code: "SPAWN_FAILED", exitCode: 9 },
  });
  expect(servers["crashing"]!.error!.message).toContain("bad config");
  expect((await toolport.callTool("good__echo", { text: "fine" })).text).toBe("fine");
});
