/** Responses far over the limit, and one just under it in small pieces, on every transport; the server is another process. */
import { fileURLToPath } from "node:url";
import type { ServerEntry } from "toolport";
import { expect } from "vitest";
import { startProgramOnPort } from "../support/program-on-port.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { watchMemory } from "./memory-watch.js";

const FLOOD = fileURLToPath(new URL("../fixtures/servers/fault-flood.mjs", import.meta.url));
const MIB = 1024 * 1024;
const MB = 1_000_000;
/** The catalogue says 2 s; a busy machine gets three times that. */
const BOUND_MS = 6_000;
/** Discarded data may take no more memory than the limit and a few buffers. */
const GROWTH = 50 * MIB;
const SMALL_BYTES = Math.floor(0.9 * MIB);
const LEGAL_BYTES = 11 * SMALL_BYTES;
const LAG_MS = 100;

const ENTRIES: Record<string, (port: number) => ServerEntry> = {
  stdio: () => ({ command: process.execPath, args: [FLOOD, "--stdio"] }),
  "HTTP, JSON": (port) => ({ url: `http://127.0.0.1:${port}/json` }),
  "HTTP, events": (port) => ({ url: `http://127.0.0.1:${port}/stream` }),
  "HTTP+SSE": (port) => ({ transport: "sse", url: `http://127.0.0.1:${port}/sse` }),
  WebSocket: (port) => ({ transport: "websocket", url: `ws://127.0.0.1:${port}/ws` }),
};

async function begin(harness: FaultHarness, kind: string) {
  const program = await startProgramOnPort([FLOOD]);
  harness.atEnd(() => program[Symbol.asyncDispose]());
  const toolport = harness.open({ it: ENTRIES[kind]!(program.port) });
  await toolport.connect();
  // One-time allocations of the first response do not count.
  await toolport.callTool("it__flood", { bytes: MIB });
  return toolport;
}

for (const kind of Object.keys(ENTRIES)) {
  for (const bytes of [64 * MB, 100 * MB]) {
    faultCase("C02", `${bytes / MB} MB over ${kind}: affects only its own call`, async (harness) => {
      const toolport = await begin(harness, kind);
      const { grownBytes } = await watchMemory(() =>
        harness.fails(toolport.callTool("it__flood", { bytes }), {
          code: "MESSAGE_TOO_LARGE",
          server: "it",
          withinMs: BOUND_MS,
        }),
      );
      expect(grownBytes / MIB, "MiB of memory").toBeLessThanOrEqual(GROWTH / MIB);
      const next = await harness.within(BOUND_MS, toolport.callTool("it__echo", { text: "next" }));
      expect(next.text).toBe("next");
      expect(toolport.snapshot().servers["it"]?.state).toBe("ready");
    });
  }

  faultCase("C02", `9.9 MiB in 4 KiB pieces over ${kind}: accepted, in linear time`, async (harness) => {
    const toolport = await begin(harness, kind);
    /** The best of several runs: a busy machine slows single runs. */
    async function best(bytes: number, isGood: (lagMs: number) => boolean) {
      let lagMs = Number.POSITIVE_INFINITY;
      let cpuMs = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 8 && !(round > 2 && isGood(lagMs)); round += 1) {
        const peak = await watchMemory(() => toolport.callTool("it__flood", { bytes, chunk: 4_096 }));
        expect(peak.value.text).toHaveLength(bytes);
        lagMs = Math.min(lagMs, peak.lagMs);
        cpuMs = Math.min(cpuMs, peak.cpuMs);
      }
      return { lagMs, cpuMs };
    }
    const small = await best(SMALL_BYTES, () => true);
    const large = await best(LEGAL_BYTES, (lagMs) => lagMs <= LAG_MS);
    expect(large.lagMs, "longest hold-up of the event loop, ms").toBeLessThanOrEqual(LAG_MS);
    // Eleven times the data may take a bit more than eleven times as long; a quadratic reader takes a hundred times as long.
    expect(large.cpuMs / small.cpuMs).toBeLessThan(33);
  });
}

for (const kind of ["HTTP, events", "HTTP+SSE"]) {
  faultCase("N12", `over ${kind}`, async (harness) => {
    const toolport = await begin(harness, kind);
    const { grownBytes } = await watchMemory(() =>
      harness.fails(toolport.callTool("it__endless", { bytes: 300 * MB }), {
        code: "MESSAGE_TOO_LARGE",
        server: "it",
        withinMs: BOUND_MS,
      }),
    );
    expect(grownBytes / MIB, "MiB of memory").toBeLessThanOrEqual(GROWTH / MIB);
    expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
  });
}
