/** Progress for a consumer that is slower than the server. */
import { expect, test } from "vitest";
import { progressResults } from "./progress-results.js";

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
  for await (const { progress, text } of results) seen.push(progress?.progress ?? text);
  expect(seen).toHaveLength(1_001);
  expect(seen.slice(0, 2)).toEqual([4_001, 4_002]);
  expect(seen.slice(-2)).toEqual([5_000, "done"]);
});
