/** Mutated JSON-RPC in any order, against a client that connects, calls, aborts and closes in any order. */
import fc from "fast-check";
import { createToolport } from "toolport";
import { expect } from "vitest";
import { MemoryWorld } from "../support/memory-world.js";
import { clientScript, expectHealed, QUICK, RECONNECT, runClientScript, SERVER } from "./client-script.js";
import { fuzzTogether } from "./fuzz-model.js";
import { answerPlans, unasked } from "./wire-arbitraries.js";

const scenario = fc.record({
  era: fc.constantFrom("legacy" as const, "modern" as const),
  plans: answerPlans,
  said: fc.array(unasked, { maxLength: 3 }),
  steps: clientScript,
});

fuzzTogether("wire over memory", scenario, async ({ era, plans, said, steps }) => {
  const left = [...plans];
  const world = new MemoryWorld({
    era,
    answer(request, self) {
      const plan = left.shift();
      const honest = self.honest(request) as Record<string, unknown> | undefined;
      const messages = plan === undefined ? [honest] : plan(honest, request);
      if (messages === "die") self.kill();
      else for (const message of messages) message === "die" ? self.kill() : message && self.say(message);
      return undefined;
    },
  });
  const toolport = createToolport({
    ...QUICK,
    mcpServers: { [SERVER]: { transport: world.connect, reconnect: RECONNECT } },
  });
  const talking = setTimeout(() => {
    for (const message of said) world.say(message);
  }, 3);
  try {
    await runClientScript(toolport, steps, () => world.kill());
    left.length = 0;
    await expectHealed(toolport);
  } finally {
    clearTimeout(talking);
    await toolport.close();
  }
  expect(world.live.size, "connections left").toBe(0);
});
