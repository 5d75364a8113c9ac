/** Many clients of one server that restarts: background reconnects are spread, a waiting call reconnects at once. */
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const tools = { hello: { handler: () => "hello" } };
const stateOf = (toolport: Toolport) => toolport.snapshot().servers["it"]!;
const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Resolves when a server of this port is in this state. */
const reached = (toolport: Toolport, state: string): Promise<void> =>
  new Promise((resolve) => {
    const off = toolport.on("state", ({ to }) => {
      if (to !== state) return;
      off();
      resolve();
    });
  });

describe("clients of a server that drops all its connections", () => {
  test("spread their background reconnects over a second, and all reconnect", async () => {
    const clients = 60;
    await using server = createTestServer({ tools });
    const listening = await server.webSocket();
    const ports = Array.from({ length: clients }, () =>
      createToolport({ mcpServers: { it: listening.entry } }),
    );
    try {
      await Promise.all(ports.map((port) => port.connect()));
      const plans: number[] = [];
      // The date stands still, so that a plan is compared with the moment it was made at.
      vi.useFakeTimers({ toFake: ["Date"] });
      const lost = ports.map((port) =>
        reached(port, "reconnecting").then(() => {
          const { retryAt } = stateOf(port);
          plans.push((retryAt ?? Number.NaN) - Date.now());
        }),
      );
      const back = ports.map((port) => reached(port, "ready"));
      listening.dropConnections();
      await Promise.all(lost);
      vi.useRealTimers();
      // The chance that 60 random waits leave a quarter of the second empty is 1 in ten million.
      for (const quarter of [0, 1, 2, 3]) {
        const inQuarter = plans.filter((ms) => ms >= quarter * 250 && ms < (quarter + 1) * 250);
        expect(inQuarter.length, `quarter ${quarter} of ${plans.join(", ")}`).toBeGreaterThan(0);
      }
      await Promise.all(back);
    } finally {
      await Promise.all(ports.map((port) => port.close()));
    }
  });

  test.each(["webSocket", "sse"] as const)(
    "over %s: a call does not wait for the background reconnect",
    async (kind) => {
      await using server = createTestServer({ era: "legacy", tools });
      const listening = await server[kind]();
      await using toolport = createToolport({ mcpServers: { it: listening.entry } });
      await toolport.connect();
      // With a fake clock a call that waits for a timer never ends.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      const lost = reached(toolport, "reconnecting");
      listening.dropConnections();
      await lost;
      expect(stateOf(toolport)).toMatchObject({ state: "reconnecting", attempt: 1 });
      expect((await toolport.callTool("it__hello")).text).toBe("hello");
    },
  );

  test("an idempotent call that the loss interrupts reconnects at once", async () => {
    await using server = createTestServer({
      era: "legacy",
      tools: { ...tools, slow: { handler: slowOnce() } },
    });
    const listening = await server.webSocket();
    await using toolport = createToolport({ mcpServers: { it: listening.entry } });
    await toolport.connect();
    const call = toolport.callTool("it__slow", {}, { idempotent: true });
    await waitFor(() => server.calls.length === 1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    listening.dropConnections();
    expect((await call).text).toBe("second time");
  });
});

/** Never answers the first call. */
function slowOnce(): () => Promise<string> {
  let calls = 0;
  return () => (++calls === 1 ? new Promise(() => {}) : Promise.resolve("second time"));
}

test("calls to a server that stays down try to connect once a second at most", async () => {
  const server = createTestServer({ tools });
  const listening = await server.webSocket();
  await using toolport = createToolport({
    mcpServers: { it: { ...listening.entry, reconnect: { delayMs: 3_600_000 } } },
    breaker: false,
    retry: false,
  });
  await toolport.connect();
  const attempts: string[] = [];
  toolport.on("state", ({ to }) => to === "connecting" && attempts.push(to));
  const lost = reached(toolport, "reconnecting");
  await server.close();
  await lost;
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  while (elapsedMs() < 1_500) {
    await failure(toolport.callTool("it__hello", {}, { timeoutMs: 5 }));
    await delay(5);
  }
  // At once for the first call, then one a second; without the pause there would be hundreds.
  expect(attempts.length).toBeGreaterThanOrEqual(1);
  expect(attempts.length).toBeLessThanOrEqual(1 + Math.ceil(elapsedMs() / 1_000));
});

test("a call that waits through a failed attempt also triggers the next one", async () => {
  const server = createTestServer({ tools });
  const listening = await server.webSocket();
  const port = Number(new URL(listening.url).port);
  await using toolport = createToolport({
    // The next background attempt would start after an hour.
    mcpServers: { it: { ...listening.entry, reconnect: { delayMs: 3_600_000 } } },
  });
  await toolport.connect();
  const lost = reached(toolport, "reconnecting");
  await server.close();
  await lost;
  const failed = new Promise<void>((resolve) => {
    toolport.on("state", ({ from, to }) => {
      if (from === "connecting" && to === "reconnecting") resolve();
    });
  });
  const call = toolport.callTool("it__hello", {}, { timeoutMs: 15_000 });
  await failed;
  await using restarted = createTestServer({ tools });
  await restarted.webSocket({ port });
  expect((await call).text).toBe("hello");
});
