/** A scripted model solves three tasks with direct calls and in code mode: the same answers, with fewer tokens in code mode. */

import { estimateTokens } from "@toolport/base";
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

interface Solved {
  readonly answer: number;
  readonly tokens: number;
  readonly requests: number;
}

test("three tasks, the same answers, fewer tokens", async () => {
  const { runTasks } = await import("../../../scripts/context/code-tasks.mjs" as string);
  const library = { createToolport, createCodeMode, createTestServer, toOpenAITools, runOpenAIToolCalls };
  const { rows } = (await runTasks({ ...library, count: estimateTokens })) as {
    rows: { name: string; direct: Solved; program: Solved }[];
  };
  expect(rows.map(({ direct }) => direct.answer)).toEqual(rows.map(({ program }) => program.answer));
  // 34 unpaid invoices of Norway, every twelfth: 34 × 100 + 12 × (0 + … + 33). Every third of the errors belongs to pay.
  expect(rows.map(({ program }) => program.answer)).toEqual([10_132, 11, 9]);
  for (const { direct, program } of rows) {
    expect(program.requests).toBe(3);
    expect(program.tokens).toBeLessThan(direct.tokens);
  }
});
