/** Progress for a consumer that is slower than the server. */

import { isSuspended } from "@toolport/core";
import { expect, test } from "vitest";
import { progressResults } from "./execute-tool.js";

test("a slow consumer gets the latest progress and the result", async () => {
  const answer = { text: "done", content: [], isError: false, server: "s", attempts: 1, durationMs: 1 };
  const results = progressResults({
    server: "s",
    signal: undefined,
    async run(onProgress) {
      for (let progress = 1; progress <= 5_000; progress += 1) onProgress({ progress });
      return answer;
    },
  });
  const seen: unknown[] = [];
  for await (const each of results) {
    if (isSuspended(each)) throw new Error("The call is suspended");
    seen.push(each.progress?.progress ?? each.text);
  }
  expect(seen).toHaveLength(1_001);
  expect(seen.slice(0, 2)).toEqual([4_001, 4_002]);
  expect(seen.slice(-2)).toEqual([5_000, "done"]);
});
