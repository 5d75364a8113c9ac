/** Redis is killed again and again while calls are suspended and resumed: what it acknowledged is still there. */
import { createToolport, isSuspended, ToolportError } from "toolport";
import { expect, test } from "vitest";
import { startRedis, withoutRedis } from "../support/redis-service.js";
import { startFaultServer } from "./fault-processes.js";
import { redis } from "./fault-stores.js";
import { answersTo, newTrace, resolveCalls, type Trace } from "./kill-round.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
const KILLS = isLong ? 100 : 6;

/** Makes calls until `isOver`, one after the other. */
async function keepCalling(
  toolport: ReturnType<typeof createToolport>,
  { series, trace, isOver }: { series: number; trace: Trace; isOver: () => boolean },
): Promise<void> {
  for (let count = 0; !isOver(); count += 1) {
    const tool = ["book", "tour", "note"][Math.floor(Math.random() * 3)];
    const isKeyed = tool === "note" || Math.random() < 0.5;
    const id = `${series}.${count}-${tool}${isKeyed ? "-key" : ""}`;
    trace.begun.add(id);
    try {
      let out: unknown = await toolport.callTool(
        `travel__${tool}`,
        { id },
        { suspend: isKeyed ? { key: id } : true },
      );
      while (isSuspended(out)) {
        trace.tokens.set(id, out.token);
        out = await toolport.resume(out.token, answersTo(out));
      }
      trace.ended.set(id, ["result"]);
    } catch (error) {
      // Every failure is typed.
      if (!ToolportError.isInstance(error)) throw error;
      trace.ended.set(id, [`${error.code} ${error.outcome}`]);
      // The store fails calls at once while it is down.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

test.skipIf(withoutRedis)(
  `S21: ${KILLS} kills of Redis with appendfsync always: no effect twice`,
  async () => {
    await using server = await startFaultServer({ maxDelayMs: 5, stateSeconds: 86_400 });
    const service = await startRedis();
    await using store = redis.startOn(service);
    const trace = newTrace();
    let isOver = false;
    const stores = [1, 2].map(() => store.open());
    const ports = stores.map((opened) =>
      createToolport({ mcpServers: { travel: { url: server.url } }, store: opened }),
    );
    try {
      const calling = ports.flatMap((toolport, index) =>
        [0, 1].map((series) =>
          keepCalling(toolport, { series: index * 2 + series, trace, isOver: () => isOver }),
        ),
      );
      for (let kill = 0; kill < KILLS; kill += 1) {
        await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 400));
        await service.kill();
        await service.start();
      }
      isOver = true;
      await Promise.all(calling);
      const figures = await resolveCalls({ server, store }, trace);
      process.stdout.write(`Redis killed: ${JSON.stringify({ ...figures, kills: KILLS })}\n`);
      expect(figures.finished).toBeGreaterThan(0);
    } finally {
      isOver = true;
      for (const toolport of ports) await toolport.close();
      for (const opened of stores) await opened.close();
    }
  },
  isLong ? 3_600_000 : 120_000,
);
