/** Lists of other users that are used until a change may have been missed. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { CatalogOptions } from "../catalog/catalog-options.js";
import { type Kept, mergeLists, type ReadLists } from "../catalog/kept-lists.js";
import { NOT_EXAMINED } from "../catalog/safety/examine-lists.js";
import type { ListFollower } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import { ListReader } from "./list-reader.js";
import type { PortCore } from "./port-core.js";

/** Lists of a user who gets the tools of another one, and the requests to the server. */
function setup({ isOpen }: { isOpen: boolean }) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const requests: string[] = [];
  let follower: ListFollower | undefined;
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
      return { tools: [] };
    },
  } as unknown as Session;
  const items = [{ name: "shared", inputSchema: { type: "object" } }];
  const options = {
    listTimeoutMs: 1_000,
    cache: true,
    onListsChanged() {},
    onWarning() {},
  } as unknown as CatalogOptions;
  let kept: Kept | undefined;
  const catalog = {
    options,
    keptOf: () => kept,
    async merge(_server: string, read: ReadLists) {
      kept = mergeLists(kept, read, NOT_EXAMINED);
      return [];
    },
  };
  const publicLists = {
    fresh: () => ({ items, readAt: Date.now(), ttlMs: 60_000, isPublic: true }),
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
