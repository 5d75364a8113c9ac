/** Ends without close(): `await using` blocks, dead workers and cluster members, dropped ports. */
import { Worker } from "node:worker_threads";
import { createToolport, type ServerEntry } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { isAlive, waitForExit } from "../support/processes.js";
import { type Host, hostPath, startHost } from "../support/start-host.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { faultProcess } from "./fault-process.js";

const FIVE_SECONDS = 5_000;
const elsewhere = { neighbour: false } as const;

for (const how of ["runs to its end", "throws"]) {
  faultCase("Y06", `await using, a block that ${how}`, async (harness) => {
    const server = faultProcess(harness);
    const block = async () => {
      await using toolport = createToolport({ mcpServers: { it: server.entry } });
      await toolport.callTool("it__echo", { text: "up" });
      if (how === "throws") throw new Error("in the block");
    };
    await block().catch(({ message }: Error) => expect(message).toBe("in the block"));
    expect(server.pids()).toHaveLength(1);
    expect(server.pids().filter(isAlive)).toEqual([]);
    harness.open({});
  });
}

/** Starts a host that ends with the harness. */
async function open(harness: FaultHarness, way: string, entries: Record<string, ServerEntry>): Promise<Host> {
  const host = await startHost("toolport-host.mjs", [way, JSON.stringify(entries)]);
  harness.atEnd(() => host.kill("SIGKILL"));
  return host;
}

const endsWithin = (host: Host, ms: number) =>
  waitFor(() => !isAlive(host.pid), { timeoutMs: ms, label: "the host to exit" });

faultCase(
  "Y06",
  "dropped without close(): the host exits, and its processes with it",
  async (harness) => {
    const servers = [faultProcess(harness), faultProcess(harness, "--stubborn", "--group-child")];
    const host = await open(harness, "forget", { good: servers[0]!.entry, stubborn: servers[1]!.entry });
    await endsWithin(host, FIVE_SECONDS);
    expect(await host.exited).toEqual({ code: 0, signal: null });
    for (const pid of servers.flatMap((server) => server.pids()))
      await waitForExit(pid, atMost(FIVE_SECONDS));
  },
  elsewhere,
);

for (const [era, ways] of [
  ["legacy", ["http", "sse", "webSocket", "stdio"]],
  ["modern", ["http", "webSocket", "stdio"]],
] as const) {
  faultCase(
    "Y06",
    `dropped without close(): ${ways.join(", ")} of the ${era} era, with open streams`,
    async (harness) => {
      const tools = { pid: { handler: () => String(process.pid) } };
      const entries: Record<string, ServerEntry> = {};
      for (const way of ways) {
        const server = harness.keep(createTestServer({ era, tools }));
        entries[way] = (await server[way]()).entry;
      }
      const host = await open(harness, "forget", entries);
      await endsWithin(host, FIVE_SECONDS);
      expect(await host.exited).toEqual({ code: 0, signal: null });
    },
    elsewhere,
  );
}

faultCase(
  "Y06",
  "dropped during a call: the host waits for the answer, then exits",
  async (harness) => {
    const server = faultProcess(harness);
    const host = await open(harness, "last-call", { it: server.entry });
    await host.exited;
    expect(host.reported("answered")).toBe("done");
    for (const pid of server.pids()) await waitForExit(pid, atMost(FIVE_SECONDS));
  },
  elsewhere,
);

faultCase(
  "Y06",
  "dropped with a subscription: the host keeps running for its updates",
  async (harness) => {
    const resources = { "t://a": { text: "a" } };
    const server = harness.keep(createTestServer({ era: "legacy", resources }));
    const { entry } = await server.stdio();
    const host = await open(harness, "subscribe", { it: entry });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(isAlive(host.pid)).toBe(true);
    await server.resourceUpdated("t://a");
    // It unsubscribes at the first update, and then nothing keeps it running.
    await endsWithin(host, FIVE_SECONDS);
    expect(host.reported("updated")).toBe("t://a");
  },
  elsewhere,
);

faultCase(
  "Y06",
  "dropped in a process that keeps running: no call is lost to the garbage collector",
  async (harness) => {
    const server = faultProcess(harness);
    const forget = () => harness.open({ it: server.entry }).callTool("it__slow", { ms: 300 });
    const call = forget();
    await waitFor(() => server.said().includes("call slow"));
    globalThis.gc?.();
    expect((await call).text).toBe("done");
  },
  elsewhere,
);

for (const [way, what] of [
  ["wait", "ended by terminate()"],
  ["exit", "that calls process.exit()"],
  ["forget", "that runs off its end"],
] as const) {
  faultCase(
    "Y06",
    `a worker thread ${what}`,
    async (harness) => {
      const server = faultProcess(harness, "--stubborn", "--group-child");
      const entries = JSON.stringify({ it: server.entry });
      const worker = new Worker(hostPath("toolport-host.mjs"), { argv: [way, entries], stdout: true });
      harness.atEnd(() => worker.terminate());
      const over = new Promise((resolve) => worker.once("exit", resolve));
      if (way === "wait") {
        await new Promise((resolve) => worker.stdout.once("data", resolve));
        await worker.terminate();
      }
      await over;
      expect(server.pids()).toHaveLength(2);
      for (const pid of server.pids()) await waitForExit(pid, atMost(FIVE_SECONDS));
    },
    elsewhere,
  );
}

interface Members {
  readonly primary: number;
  readonly killed: number;
  readonly kept: number;
}

faultCase(
  "Y06",
  "cluster: the servers of a killed worker end, and no others",
  async (harness) => {
    const server = faultProcess(harness, "--stubborn");
    const host = await startHost("cluster-host.mjs", [JSON.stringify(server.entry)]);
    harness.atEnd(() => host.kill("SIGKILL"));
    const members = host.report as Members;
    host.send("kill");
    await waitForExit(members.killed, atMost(FIVE_SECONDS));
    expect([members.primary, members.kept].filter(isAlive)).toHaveLength(2);
    host.send("end");
    await harness.within(FIVE_SECONDS, host.exited);
    expect(await host.exited).toEqual({ code: 0, signal: null });
    expect(host.reported("ended")).toBe("still here");
    for (const pid of server.pids()) await waitForExit(pid, atMost(FIVE_SECONDS));
  },
  elsewhere,
);
