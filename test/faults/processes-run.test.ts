/** Faults of running processes: killed, stopped, half closed, not reading, noisy. */
import { type ConnectionError, type ServerEntry, ToolportError } from "toolport";
import { toLangChainTools } from "toolport/langchain";
import { expect } from "vitest";
import { isAlive, waitForExit } from "../support/processes.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { AS_WRITTEN, bound, faultCase } from "./fault-case.js";
import { faultProcess } from "./fault-process.js";

const HALF_A_SECOND = atMost(500);
const TWO_SECONDS = atMost(2_000);
const THREE_SECONDS = atMost(3_000);
const MIB = 1_024 * 1_024;

faultCase("P01", "SIGKILL: reported with the signal, not repeated, the old handle works", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  const handles = await toLangChainTools(toolport);
  const echo = handles.find(({ name }) => name === "it__echo");
  const error = await harness.fails<ConnectionError>(
    toolport.callTool("it__die", { afterMs: 200, signal: "SIGKILL" }),
    { code: "CLOSED", server: "it", tool: "die", withinMs: 200 + HALF_A_SECOND },
  );
  expect(error).toMatchObject({ signal: "SIGKILL", retryable: true, outcome: "unknown" });
  expect(await harness.within(THREE_SECONDS, echo!.invoke({ text: "back" }))).toBe("back");
  expect((await toolport.callTool("it__echo", { text: "too" })).text).toBe("too");
  expect(server.said().filter((what) => what === "call die")).toHaveLength(1);
  expect(server.pids()).toHaveLength(2);
});

faultCase("P01", "out of memory", async (harness) => {
  const server = faultProcess(harness);
  const [script, ...args] = server.entry.args as string[];
  const entry: ServerEntry = { ...server.entry, args: ["--max-old-space-size=16", script!, ...args] };
  const toolport = harness.open({ it: entry });
  await toolport.connect();
  // The time until its memory is full does not count.
  const call = toolport.callTool("it__hoard", {}, { timeoutMs: 20_000 });
  const error = await harness.fails<ConnectionError>(call, {
    code: "CLOSED",
    server: "it",
    withinMs: 20_000,
  });
  expect(error).toMatchObject({ signal: "SIGABRT", outcome: "unknown" });
  expect(error.stderrTail).toBeTruthy();
  const back = await harness.within(THREE_SECONDS, toolport.callTool("it__echo", { text: "back" }));
  expect(back.text).toBe("back");
  expect(server.said().filter((what) => what === "call hoard")).toHaveLength(1);
});

faultCase("P01", "killed with twenty calls in flight: each fails, none is repeated", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  const pid = Number((await toolport.callTool("it__pid")).text);
  const calls = Array.from({ length: 20 }, () => toolport.callTool("it__slow", { ms: 60_000 }));
  const settled = Promise.allSettled(calls);
  await waitFor(() => server.said().filter((what) => what === "call slow").length === 20);
  process.kill(pid, "SIGKILL");
  for (const outcome of await harness.within(HALF_A_SECOND, settled)) {
    expect(outcome.status).toBe("rejected");
    const { reason } = outcome as PromiseRejectedResult;
    expect(ToolportError.isInstance(reason)).toBe(true);
    expect(reason).toMatchObject({ code: "CLOSED", server: "it", signal: "SIGKILL", outcome: "unknown" });
  }
  await harness.within(THREE_SECONDS, toolport.callTool("it__echo", { text: "back" }));
  expect(server.said().filter((what) => what === "call slow")).toHaveLength(20);
});

faultCase(
  "P09",
  "SIGSTOP, later SIGCONT: the call times out, is cancelled, and its late answer is dropped",
  async (harness) => {
    const server = faultProcess(harness);
    const toolport = harness.open({ it: { ...server.entry, logResponses: true } });
    const pid = Number((await toolport.callTool("it__pid")).text);
    process.kill(pid, "SIGSTOP");
    harness.atEnd(() => isAlive(pid) && process.kill(pid, "SIGCONT"));
    const timeoutMs = bound(300, 60_000);
    const call = toolport.callTool("it__echo", { text: "late" }, { timeoutMs });
    await harness.fails(call, { code: "TIMEOUT", server: "it", tool: "echo", withinMs: timeoutMs + 1_000 });
    await harness.fails(toolport.ping("it", { timeoutMs: 100 }), { code: "TIMEOUT", withinMs: 1_100 });
    process.kill(pid, "SIGCONT");
    await waitFor(() => harness.logged.some((line) => line.includes("<-") && line.includes("late")));
    await waitFor(() => server.said().includes("notifications/cancelled"));
    // Other calls are not affected, and it is the same process.
    expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
    expect(server.pids()).toEqual([pid]);
  },
);

faultCase("P09", "SIGSTOP without SIGCONT: close() ends it", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  const pid = Number((await toolport.callTool("it__pid")).text);
  process.kill(pid, "SIGSTOP");
  const call = toolport.callTool("it__echo", { text: "never" }, { timeoutMs: 200 });
  await harness.fails(call, { code: "TIMEOUT", withinMs: 1_200 });
  await harness.within(5_000, toolport.disconnect("it"));
  expect(isAlive(pid)).toBe(false);
});

faultCase(
  "P09",
  "SIGSTOP under a health check: found unresponsive and replaced",
  async (harness) => {
    const server = faultProcess(harness);
    const toolport = harness.open({ it: server.entry }, { healthCheck: { intervalMs: 200 } });
    const pid = Number((await toolport.callTool("it__pid")).text);
    process.kill(pid, "SIGSTOP");
    // A ping has ten seconds, the old process five to exit.
    await waitFor(() => server.pids().length === 2);
    expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
    await waitForExit(pid);
  },
  { skip: !AS_WRITTEN && "a health check waits ten seconds; part of the long run" },
);

faultCase("P10", "closes only stdout and keeps running: lost, ended, replaced", async (harness) => {
  const server = faultProcess(harness, "--close-stdout-on=slow", "--stubborn", "--group-child");
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  const family = server.pids();
  const call = toolport.callTool("it__slow", { ms: 60_000 });
  const error = await harness.fails(call, { code: "CLOSED", server: "it", withinMs: TWO_SECONDS });
  expect(error.outcome).toBe("unknown");
  const back = await harness.within(THREE_SECONDS, toolport.callTool("it__echo", { text: "back" }));
  expect(back.text).toBe("back");
  for (const pid of family) await waitForExit(pid, THREE_SECONDS);
});

faultCase("P10", "closes only stdin and keeps running: replaced for the next call", async (harness) => {
  const server = faultProcess(harness, "--close-stdin-on=pid", "--stubborn", "--group-child");
  const toolport = harness.open({ it: server.entry });
  await toolport.callTool("it__pid");
  const family = server.pids();
  const back = await harness.within(THREE_SECONDS, toolport.callTool("it__echo", { text: "back" }));
  expect(back.text).toBe("back");
  for (const pid of family) await waitForExit(pid, THREE_SECONDS);
  expect(server.said().filter((what) => what === "call echo")).toHaveLength(1);
});

faultCase(
  "P10",
  "exits while its child holds stdout open: the exit counts, and the child is ended too",
  async (harness) => {
    const server = faultProcess(harness, "--group-child", "--holds-stdout");
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    const [, child] = server.pids();
    const call = toolport.callTool("it__die", { afterMs: 0, signal: "SIGKILL" });
    const error = await harness.fails<ConnectionError>(call, {
      code: "CLOSED",
      server: "it",
      withinMs: TWO_SECONDS,
    });
    expect(error.signal).toBe("SIGKILL");
    await waitForExit(child!, THREE_SECONDS);
    expect((await toolport.callTool("it__echo", { text: "back" })).text).toBe("back");
  },
);

faultCase("P11", "8 MiB of arguments for a server that stopped reading", async (harness) => {
  const server = faultProcess(harness, "--deaf-after-list");
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  const text = "x".repeat(8 * MIB);
  globalThis.gc?.();
  const before = process.memoryUsage();
  const timeoutMs = bound(1_000, 60_000);
  const call = toolport.callTool("it__echo", { text }, { timeoutMs });
  const failing = harness.fails(call, {
    code: "TIMEOUT",
    server: "it",
    tool: "echo",
    withinMs: timeoutMs + 1_000,
  });
  // Queued for writing: the message once as text and once as bytes.
  await new Promise((resolve) => setTimeout(resolve, timeoutMs / 2));
  globalThis.gc?.();
  const now = process.memoryUsage();
  expect((now.heapUsed - before.heapUsed) / MIB).toBeLessThan(2 * 8 + 2);
  expect((now.external + now.heapUsed - before.external - before.heapUsed) / MIB).toBeLessThan(3 * 8 + 2);
  await failing;
  // The pipe is full: the next call waits behind it, no longer than its own timeout.
  const next = toolport.callTool("it__echo", { text: "next" }, { timeoutMs: 200 });
  await harness.fails(next, { code: "TIMEOUT", withinMs: 1_200 });
  await harness.within(5_000, toolport.disconnect("it"));
});

faultCase("P11", "a server that never read anything", async (harness) => {
  const script = "setInterval(() => {}, 1000)";
  const toolport = harness.open(
    { it: { command: process.execPath, args: ["-e", script] } },
    { connectTimeoutMs: 2_000 },
  );
  const call = toolport.callTool("it__echo", { text: "x".repeat(8 * MIB) });
  await harness.fails(call, { code: ["CONNECT_TIMEOUT", "TIMEOUT"], server: "it", withinMs: 3_000 });
});

faultCase("P12", "5 MiB to stderr before it reads: still becomes ready", async (harness) => {
  const server = faultProcess(harness, `--stderr-first=${5 * MIB}`);
  const toolport = harness.open({ it: server.entry });
  const { servers } = await harness.within(TWO_SECONDS, toolport.connect());
  expect(servers["it"]).toMatchObject({ state: "ready" });
});

faultCase(
  "P12",
  "a flood to stderr during a call: read, truncated, and the call is answered",
  async (harness) => {
    const server = faultProcess(harness);
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    globalThis.gc?.();
    const before = process.memoryUsage();
    const flood = toolport.callTool("it__flood", { bytes: bound(256, 1_024) * MIB }, { timeoutMs: 60_000 });
    let echoes = 0;
    let over = false;
    const flooding = flood.finally(() => {
      over = true;
    });
    while (!over) {
      await toolport.callTool("it__echo", { text: "on" });
      echoes += 1;
    }
    expect((await flooding).text).toBe("flooded");
    // The read data is freed a moment later.
    const kept = () => {
      globalThis.gc?.();
      const after = process.memoryUsage();
      return (after.heapUsed + after.external - before.heapUsed - before.external) / MIB;
    };
    await waitFor(() => kept() < 4, { intervalMs: 100, label: () => `${kept()} MiB to be freed` });
    expect(echoes).toBeGreaterThan(0);
  },
);
