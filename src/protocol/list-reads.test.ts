/** Which lists have to be read again when a stream of changes opens. */
import { beforeEach, describe, expect, test } from "vitest";
import { LIST_KEYS, type ListKey, ListReads } from "./list-reads.js";

let gaps: (readonly ListKey[])[] = [];
let reads = new ListReads(() => {});

beforeEach(() => {
  gaps = [];
  reads = new ListReads((lists) => gaps.push(lists));
});

const read = (list: ListKey) => {
  const reading = reads.begin(list);
  reading.responded();
  reading.succeeded();
};

const open = (lists: readonly ListKey[] = LIST_KEYS) => {
  reads.streamConfirmed();
  reads.streamOpened(lists);
};

const NOT_TOOLS = LIST_KEYS.filter((list) => list !== "tools");

describe("the first stream", () => {
  test("finds lists that were read before it was requested", () => {
    read("tools");
    reads.streamRequested();
    open();
    expect(gaps).toEqual([LIST_KEYS]);
  });

  test("finds a list whose response came before it was open", () => {
    reads.streamRequested();
    read("tools");
    open(["tools", "prompts"]);
    expect(gaps).toEqual([["tools", "prompts"]]);
  });

  test("leaves a list alone whose response comes later", () => {
    reads.streamRequested();
    const reading = reads.begin("tools");
    open();
    reading.responded();
    reading.succeeded();
    expect(gaps).toEqual([NOT_TOOLS]);
  });

  test("finds a list that was requested before it, even if the response comes later", () => {
    const reading = reads.begin("tools");
    reads.streamRequested();
    open(["tools"]);
    reading.responded();
    expect(gaps).toEqual([["tools"]]);
  });

  test("counts a response that comes between its confirmation and its opening as later", () => {
    reads.streamRequested();
    const reading = reads.begin("tools");
    reads.streamConfirmed();
    reading.responded();
    reads.streamOpened(["tools"]);
    expect(gaps).toEqual([]);
  });

  test("judges a list by its first page", () => {
    reads.streamRequested();
    const reading = reads.begin("tools");
    reading.responded();
    open(["tools"]);
    reading.responded();
    reading.succeeded();
    expect(gaps).toEqual([["tools"]]);
  });
});

describe("a later stream", () => {
  beforeEach(() => {
    reads.streamRequested();
    open();
    for (const list of LIST_KEYS) read(list);
    gaps = [];
  });

  test("finds all lists after a loss", () => {
    reads.streamLost();
    expect(reads.isCovered("tools")).toBe(false);
    reads.streamRequested();
    read("prompts");
    open();
    expect(reads.isCovered("tools")).toBe(true);
    expect(gaps).toEqual([LIST_KEYS]);
  });

  test("finds nothing if the earlier one is still open", () => {
    reads.streamRequested();
    open();
    expect(gaps).toEqual([]);
  });

  test("finds the lists that the earlier one did not have", () => {
    reads.streamRequested();
    open(["tools"]);
    reads.streamRequested();
    open();
    expect(gaps).toEqual([NOT_TOOLS]);
  });
});

describe("a read that fails", () => {
  test("leaves the earlier result, which has to be read again", () => {
    read("tools");
    reads.streamRequested();
    const reading = reads.begin("tools");
    open(["tools"]);
    expect(gaps).toEqual([]);
    reading.responded();
    reading.failed();
    expect(gaps).toEqual([["tools"]]);
  });

  test("is not reported again if the list was read again for a report", () => {
    read("tools");
    reads.streamRequested();
    open(["tools"]);
    expect(gaps).toEqual([["tools"]]);
    reads.begin("tools").failed();
    expect(gaps).toEqual([["tools"]]);
    reads.streamLost();
    reads.streamRequested();
    open(["tools"]);
    expect(gaps).toEqual([["tools"], ["tools"]]);
  });

  test("without an earlier result is not repeated", () => {
    reads.streamRequested();
    const reading = reads.begin("tools");
    open(["tools"]);
    reading.failed();
    expect(gaps).toEqual([]);
  });

  test("does not matter after a later one has succeeded", () => {
    reads.streamRequested();
    open(["tools"]);
    gaps = [];
    const [slow, late] = [reads.begin("tools"), reads.begin("tools")];
    late.responded();
    late.succeeded();
    slow.failed();
    expect(gaps).toEqual([]);
  });
});

test("recheck() reports what was not read since the stream is open", () => {
  reads.streamRequested();
  open();
  gaps = [];
  read("tools");
  reads.recheck();
  expect(gaps).toEqual([NOT_TOOLS]);
});
