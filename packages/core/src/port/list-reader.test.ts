/** Lists of other users that are used until a change may have been missed, and what is reported when lists are read again. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { CatalogOptions } from "../catalog/catalog.js";
import { isSameKept, type Kept, mergeLists, type ReadLists } from "../catalog/kept-lists.js";
import { NOT_EXAMINED } from "../catalog/safety/examine-lists.js";
import type { ListFollower, ListName } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import { ListReader } from "./list-reader.js";
import type { PortCore } from "./port-core.js";

/** Lists of a user who gets the tools of another one, and the requests to the server. */
function setup({ isOpen, isShared = true }: { isOpen: boolean; isShared?: boolean }) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const requests: string[] = [];
  const reported: (readonly ListName[])[] = [];
  let follower: ListFollower | undefined;
  /** The tools of the server, or an error. */
  let answer: object = { tools: [] };
  const session = {
    server: "s",
    era: "modern",
    transport: "stdio",
    unproven: false,
    capabilities: { tools: { listChanged: true } },
    closed: new Promise(() => {}),
    followLists(lists: ListFollower) {
      follower = lists;
    },
    isReporting: () => isOpen,
    async request(method: string) {
      requests.push(method);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as Session;
  const items = [{ name: "shared", inputSchema: { type: "object" } }];
  const options = {
    listTimeoutMs: 1_000,
    cache: true,
    onListsChanged: (_server: string, lists: readonly ListName[]) => void reported.push(lists),
    onWarning() {},
  } as unknown as CatalogOptions;
  let kept: Kept | undefined;
  const catalog = {
    options,
    keptOf: () => kept,
    async merge(_server: string, read: ReadLists) {
      const before = kept;
      const now = mergeLists(before, read, NOT_EXAMINED);
      kept = now;
      return read.lists.map(({ key }) => key).filter((key) => before && !isSameKept(key, before, now));
    },
  };
  const publicLists = {
    fresh: () => (isShared ? { items, readAt: Date.now(), ttlMs: 60_000, isPublic: true } : undefined),
    keep() {},
    changed() {},
    replacedListeners: new Set(),
  };
  const parts = { publicLists, settings: { cache: true } };
  const pool = { peek() {}, configOf: () => ({ name: "s" }) };
  const lists = new ListReader(
    { catalog, pool, parts, reads: "connect" } as unknown as PortCore,
    () => undefined,
  );
  return {
    requests,
    reported,
    change: () => follower?.changed("tools"),
    miss: () => follower?.reporting(["tools"]),
    respond: (next: object) => {
      answer = next;
    },
    load: () => lists.connected(session, new AbortController().signal),
    gap: async () => {
      follower?.reporting(["tools"]);
      await vi.advanceTimersByTimeAsync(100);
    },
  };
}

test("a shared list is not read again when the stream opens, but after a loss", async () => {
  const { load, gap, requests } = setup({ isOpen: false });
  await load();
  await gap();
  expect(requests).toEqual([]);
  await gap();
  expect(requests).toEqual(["tools/list"]);
});

test("a shared list is read again after the first loss of a stream that was open before", async () => {
  const { load, gap, requests } = setup({ isOpen: true });
  await load();
  await gap();
  expect(requests).toEqual(["tools/list"]);
});

describe("a list that is read again", () => {
  const NEW = { tools: [{ name: "new", inputSchema: { type: "object" } }] };

  /** The lists are read, then the events happen. */
  async function readAgain(run: (reader: ReturnType<typeof setup>) => void) {
    const reader = setup({ isOpen: true, isShared: false });
    await reader.load();
    run(reader);
    await vi.advanceTimersByTimeAsync(10_000);
    return reader;
  }

  test("is reported if the server reported a change", async () => {
    const { requests, reported } = await readAgain(({ change }) => change());
    expect(requests).toEqual(["tools/list", "tools/list"]);
    expect(reported).toEqual([["tools"]]);
  });

  test("is not reported if a change may have been missed, and it is the same", async () => {
    const { requests, reported } = await readAgain(({ miss }) => miss());
    expect(requests).toEqual(["tools/list", "tools/list"]);
    expect(reported).toEqual([]);
  });

  test("is reported if a change was missed", async () => {
    const { reported } = await readAgain(({ miss, respond }) => {
      miss();
      respond(NEW);
    });
    expect(reported).toEqual([["tools"]]);
  });

  test("is reported once if the server reported a change as well", async () => {
    const { requests, reported } = await readAgain(({ miss, change, respond }) => {
      miss();
      change();
      respond(NEW);
    });
    expect(requests).toEqual(["tools/list", "tools/list"]);
    expect(reported).toEqual([["tools"]]);
  });

  test("is reported when it can be read", async () => {
    const { reported } = await readAgain(({ change, respond }) => {
      change();
      respond(new Error("down"));
      setTimeout(() => respond(NEW), 1_000);
    });
    expect(reported).toEqual([["tools"]]);
  });
});
