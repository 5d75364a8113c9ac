/** A result of 1 MB in every adapter: the model gets a note and a preview, reads on with read_artifact, and answers. */

import { estimateTokens } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { ISSUES, openLargeResults } from "./large-results-scene.js";
import { type LiveTurn, startModelDouble } from "./model-double.js";
import { LOOPS } from "./model-loops.js";

describe.each(Object.entries(LOOPS))("%s", (_name, { run, results, names, problems }) => {
  test("big result, read_artifact, answer", async () => {
    expect(ISSUES.length).toBeGreaterThan(1_000_000);
    await using scene = openLargeResults();
    const find: LiveTurn = (request) => {
      const [, id] = /read_artifact with \{"id":"([\w-]+)"/.exec(results(request)[0]!) ?? [];
      return [
        { name: "read_artifact", args: { id, find: '"number":1234,', fields: ["number", "user.login"] } },
      ];
    };
    const answer: LiveTurn = (request) => `It was ${/"user.login":"(\w+)"/.exec(results(request)[1]!)?.[1]}`;
    await using double = await startModelDouble([[{ name: "github__list_issues", args: {} }], find, answer]);
    const { text, lengths } = await run(scene.toolport, double.url, "Who wrote issue 1234?");
    expect(text).toBe("It was user2");
    // The program gets everything.
    if (lengths !== undefined) expect(lengths).toContain(ISSUES.length);
    const { requests } = double;
    expect(requests).toHaveLength(3);
    expect(requests.flatMap(problems)).toEqual([]);
    // The list of tools is the same in every request, and the reader comes last.
    for (const request of requests) expect(names(request).at(-1)).toBe("read_artifact");
    expect(new Set(requests.map((request) => names(request).join())).size).toBe(1);
    const [cut = "", page = ""] = results(requests.at(-1));
    expect(cut).toMatch(
      /^\[truncated: \d+ of \d+ bytes\. Shape: \{ total_count: number, items: list of 1500 /,
    );
    expect(estimateTokens(cut)).toBeLessThan(450);
    expect(results(requests[1])[0]).toBe(cut);
    expect(page).toContain('[{"number":1234,"user.login":"user2"}]');
    expect(estimateTokens(page)).toBeLessThan(60);
  });

  test("search_tools, call_tool, read_artifact, answer", async () => {
    await using scene = openLargeResults({ deferTools: true });
    const call: LiveTurn = (request) => {
      const { tools } = JSON.parse(results(request)[0]!) as { tools: { name: string }[] };
      return [{ name: "call_tool", args: { name: tools[0]!.name, arguments: {} } }];
    };
    const read: LiveTurn = (request) => {
      const [, id] = /read_artifact with \{"id":"([\w-]+)"/.exec(results(request)[1]!) ?? [];
      return [{ name: "read_artifact", args: { id, from: 1_234, count: 1, fields: ["user.login"] } }];
    };
    const answer: LiveTurn = (request) => `It was ${/"user.login":"(\w+)"/.exec(results(request)[2]!)?.[1]}`;
    const search = [{ name: "search_tools", args: { query: "list issues" } }];
    await using double = await startModelDouble([search, call, read, answer]);
    const { text, lengths } = await run(scene.toolport, double.url, "Who wrote issue 1234?");
    expect(text).toBe("It was user2");
    if (lengths !== undefined) expect(lengths).toContain(ISSUES.length);
    const { requests } = double;
    expect(requests.flatMap(problems)).toEqual([]);
    for (const request of requests)
      expect(names(request)).toEqual(["search_tools", "call_tool", "read_artifact"]);
    expect(estimateTokens(results(requests.at(-1)).join())).toBeLessThan(1_500);
  });
});
