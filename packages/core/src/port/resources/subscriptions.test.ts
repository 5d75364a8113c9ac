/** How a listener of a resource receives its updates. */
import { expect, test, vi } from "vitest";
import { type ResourceUpdate, UpdateFeed } from "./subscriptions.js";

/** A thenable, as older libraries return them. */
class Foreign {
  readonly ends: (() => void)[];
  constructor(ends: (() => void)[]) {
    this.ends = ends;
  }
  // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
  then(resolve: () => void): void {
    this.ends.push(resolve);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test.each<[string, (ends: (() => void)[]) => unknown]>([
  ["a promise", (ends) => new Promise<void>((resolve) => ends.push(resolve))],
  ["a thenable", (ends) => new Foreign(ends)],
])("changes are collected while %s of the listener is pending", async (_kind, wait) => {
  const ends: (() => void)[] = [];
  const seen: string[] = [];
  const report = vi.fn();
  const feed = new UpdateFeed((update: ResourceUpdate) => {
    seen.push(update.uri);
    return wait(ends);
  }, report);
  const add = (uri: string) => feed.add({ server: "s", uri, missed: false }, "t://all");
  for (const uri of ["a", "b", "b", "b", "c"]) add(uri);
  await turn();
  expect(seen).toEqual(["a"]);
  while (ends.length > 0) {
    ends.shift()!();
    await turn();
  }
  expect(seen).toEqual(["a", "b", "c"]);
  expect(report).not.toHaveBeenCalled();
});
