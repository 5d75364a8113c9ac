/** The real connection behaves like a small model, for any actions in any order. */
import fc from "fast-check";
import { createToolport } from "toolport";
import { expect } from "vitest";
import { type ConnectionStatus, TRANSITIONS } from "../../packages/core/src/connection/connection-state.js";
import { activeResources } from "../support/leaks.js";
import { MemoryWorld } from "../support/memory-world.js";
import { waitFor } from "../support/wait-for.js";
import type { ConnectionModel } from "./connection-model.js";
import * as commands from "./connection-model.js";
import { fuzzModel, REPLAY_PATH } from "./fuzz-model.js";

const times = fc.integer({ min: 1, max: 4 });
const moment = fc.integer({ min: 0, max: 4 });

const script = fc.commands(
  [
    fc.constantFrom("up" as const, "down" as const, "mute" as const).map(commands.setMode),
    fc.constant(commands.setMode("up")),
    times.map(commands.connect),
    times.map(commands.call),
    times.map(commands.disconnect),
    fc.constant(commands.kill),
    moment.map(commands.abortCall),
    moment.map(commands.abortConnect),
  ],
  { maxCommands: 25, size: "+1", ...(REPLAY_PATH !== undefined && { replayPath: REPLAY_PATH }) },
);

fuzzModel(
  "connection states",
  fc.asyncProperty(fc.constantFrom("legacy" as const, "modern" as const), script, async (era, steps) => {
    const timersBefore = activeResources()["Timeout"] ?? 0;
    const world = new MemoryWorld({ era });
    const toolport = createToolport({
      mcpServers: {
        it: { transport: world.connect, reconnect: { maxAttempts: 2, delayMs: 1 }, protocol: "auto" },
      },
      breaker: false,
      retry: false,
    });
    let last: ConnectionStatus = "idle";
    const wrong: string[] = [];
    toolport.on("state", ({ from, to }) => {
      if (from !== last || !TRANSITIONS[from].includes(to)) wrong.push(`${last}, then ${from} to ${to}`);
      last = to;
    });
    try {
      await fc.asyncModelRun(
        () => ({ model: { status: "idle", mode: "up" } as ConnectionModel, real: { toolport, world } }),
        steps,
      );
    } finally {
      await toolport.close();
    }
    expect(world.live.size, "connections left").toBe(0);
    expect(wrong).toEqual([]);
    await waitFor(() => (activeResources()["Timeout"] ?? 0) <= timersBefore, { label: "timers to go" });
  }),
);
