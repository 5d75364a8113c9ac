/** A subscription that is replaced by one with another filter. */
import type { Client, SubscriptionFilter } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { ServerSubscription } from "./change-watch.js";

/** A subscription to lists, whose server accepts the first request and answers all others with the error. */
async function setup(error: Error) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const events: string[] = [];
  let filter: SubscriptionFilter = { toolsListChanged: true };
  let end = (_how: "remote") => {};
  const closed = new Promise<"remote">((resolve) => {
    end = resolve;
  });
  const accept = async (honoredFilter: SubscriptionFilter) => ({
    honoredFilter,
    closed,
    close: async () => {},
  });
  const listen = vi.fn(accept).mockImplementationOnce(accept).mockRejectedValue(error);
  const subscription = new ServerSubscription({
    client: async () => {
      events.push("requested");
      return { listen } as unknown as Client;
    },
    filter: () => filter,
    onOpen: () => void events.push("open"),
    onLost: () => void events.push("lost"),
  });
  onTestFinished(() => subscription.close());
  subscription.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(events.splice(0)).toEqual(["requested", "open"]);
  filter = { ...filter, resourceSubscriptions: ["test://a"] };
  const granting = subscription.update();
  granting.catch(() => {});
  await vi.advanceTimersByTimeAsync(0);
  return { events, listen, granting, end: () => end("remote") };
}

test("its loss is noticed while the server cannot be asked for another one", async () => {
  const { events, end } = await setup(new Error("The server is down"));
  end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(events).toContain("lost");
});

test("it goes on if the server does not support the other one", async () => {
  const { events, listen, granting, end } = await setup(Object.assign(new Error("No"), { code: -32601 }));
  await expect(granting).rejects.toThrow("No");
  end();
  listen.mockReset();
  listen.mockImplementation(async (honoredFilter) => ({
    honoredFilter,
    closed: new Promise<"remote">(() => {}),
    close: async () => {},
  }));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(events).toEqual(["requested", "requested", "lost", "open"]);
});
