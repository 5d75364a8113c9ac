import { describe, expect, it } from "vitest";
import { parseProcStat, parsePs, readProcessTable } from "./process-tree.js";

describe("the process table", () => {
  it("contains this process and its parent", async () => {
    const table = await readProcessTable();
    const own = table.find((entry) => entry.pid === process.pid);
    expect(own).toMatchObject({ pid: process.pid, parent: process.ppid });
    expect(own?.startedAt).not.toBe("");
  });

  it("parses a stat line with a malicious program name, and skips zombies", () => {
    const rest = "7 5 1 0 -1 4194304 99 0 0 0 0 0 0 0 20 0 1 0 159658 3133440";
    expect(parseProcStat(9, `9 (a) Z 1 (x) S ${rest}`)).toEqual({
      pid: 9,
      parent: 7,
      group: 5,
      startedAt: "159658",
    });
    expect(parseProcStat(9, `9 (node) Z ${rest}`)).toBeUndefined();
    expect(parseProcStat(9, "")).toBeUndefined();
  });

  it("parses the output of ps", () => {
    const output =
      "    1     0     1 Ss   Sat Nov 15 08:27:01 2025\n   12     1    12 Z    Sat Nov 15 08:27:02 2025\n";
    expect(parsePs(output)).toEqual([{ pid: 1, parent: 0, group: 1, startedAt: "Sat Nov 15 08:27:01 2025" }]);
  });
});
