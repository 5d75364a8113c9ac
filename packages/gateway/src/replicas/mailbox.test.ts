/** Messages between replicas when the store loses notices, is away for a moment, or writes although it reports an error. */

import { memoryStore, type Store } from "@toolport/stores";
import { expect, test, vi } from "vitest";
import { Mailbox, type MessageHandler } from "./mailbox.js";

const ADA = { principal: "ada" };

/** A sender and a replica that handles `call`, each with its view of one store. */
function connect(handler: MessageHandler, views: { near?: Partial<Store>; far?: Partial<Store> }) {
  const [sender, owner] = [views.near, views.far].map((view) => new Mailbox({ ...store, ...view }));
  owner!.receive("call", handler, ADA);
  return {
    send: (signal?: AbortSignal) => sender!.send(owner!.replica, "call", {}, { ...ADA, signal }),
    close() {
      sender!.close();
      owner!.close();
    },
  };
}

const store = memoryStore();

test("a reply and a cancellation arrive although their notices are lost", async () => {
  const handled: AbortSignal[] = [];
  const seen = new Set<string>();
  const { send, close } = connect(
    async (_body, { signal }) => {
      handled.push(signal);
      if (handled.length === 1) return "reply";
      return await new Promise(() => {});
    },
    {
      near: { watch: () => () => {} },
      // The first notice about each message is that of the request.
      far: {
        watch: (prefix, listener) =>
          store.watch(prefix, (key) => {
            if (!seen.has(key)) listener(key);
            seen.add(key);
          }),
      },
    },
  );
  expect(await send()).toBe("reply");
  const controller = new AbortController();
  const cancelled = send(controller.signal);
  await vi.waitFor(() => expect(handled).toHaveLength(2));
  controller.abort(new Error("the client left"));
  await expect(cancelled).rejects.toThrow("the client left");
  await vi.waitFor(() => expect(handled[1]!.aborted).toBe(true), 5_000);
  close();
});

test("a store that is away for a moment loses neither the message nor the reply", async () => {
  /** Fails the first two calls. */
  const flaky = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    let count = 0;
    return (...args: Args) => (++count <= 2 ? Promise.reject(new Error("away")) : call(...args));
  };
  const { send, close } = connect(async () => "reply", {
    near: { get: flaky(store.get) },
    far: { get: flaky(store.get) },
  });
  expect(await send()).toBe("reply");
  close();
});

test("a renewal that is written although it fails does not end the work", async () => {
  let writes = 0;
  const { send, close } = connect(
    async (_body, { signal }) => {
      await vi.waitFor(() => expect(writes).toBeGreaterThan(3), 10_000);
      return { isAborted: signal.aborted };
    },
    {
      far: {
        async put(...args) {
          const version = await store.put(...args);
          writes += 1;
          // The first write takes the message.
          if (writes === 2) throw new Error("the connection was lost");
          return version;
        },
      },
    },
  );
  expect(await send()).toEqual({ isAborted: false });
  close();
});
