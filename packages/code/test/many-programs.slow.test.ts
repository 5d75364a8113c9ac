/** Many programs, one after the other: no thread and no memory remains. `npm run bench:code -- --long` runs 10,000. */
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { activeResources } from "../../../test/support/leaks.js";
import { watchThreads } from "../../../test/support/watch-threads.js";

const KINDS = [
  "return await tools.s.add({ a: 1 })",
  "return await Promise.all([1, 2, 3].map((a) => tools.s.add({ a })))",
  "throw new Error('mine')",
  "const x: number = 1; return x",
  "tools.s.hang({}); return 1",
  "console.log('x'.repeat(1e4)); return Array(1000).fill('row')",
];

test("200 programs leave no thread, no handle and no memory", async () => {
  const threads = watchThreads();
  await using server = createTestServer({
    tools: { add: { handler: ({ a }) => String(a) }, hang: { handler: () => new Promise(() => {}) } },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  const code = createCodeMode(toolport);
  let middle = 0;
  let resources = {};
  for (let index = 0; index < 200; index += 1) {
    const out = await code.execute(KINDS[index % KINDS.length]!);
    expect(out.error?.message.startsWith("Error, line 1") ?? true, out.error?.message).toBe(true);
    if (index === 0) resources = activeResources();
    if (index === 100) middle = process.memoryUsage().rss;
  }
  await code.close();
  threads.stop();
  // A thread runs one program after the other.
  expect(threads.started).toBeLessThan(5);
  expect(threads.alive()).toBe(0);
  expect(activeResources()["MessagePort"] ?? 0).toBeLessThanOrEqual(
    (resources as Record<string, number>)["MessagePort"] ?? 0,
  );
  // A leaked VM has at least 12 MB: a hundred of them would be a gigabyte.
  expect(process.memoryUsage().rss - middle).toBeLessThan(150 * 1024 * 1024);
});
