/** Messages between replicas arrive once, at the right user's handler, on every store. */
import { expect } from "vitest";
import { Mailbox } from "../../packages/gateway/src/replicas/mailbox.js";
import type { Store } from "../../packages/stores/src/store.js";
import { waitFor } from "../support/wait-for.js";
import type { StoreCase, StoreSubject } from "./store-subject.js";

/** So long that a test which waits for it fails. */
const NEVER_MS = 600_000;
const ADA = { principal: "ada" };

/** Two replicas, closed after the work. */
const withReplicas =
  (work: (a: Mailbox, b: Mailbox, stores: { near: Store; far: Store }) => Promise<void>) =>
  async ({ store, another }: StoreSubject): Promise<void> => {
    const far = await another();
    const [a, b] = [new Mailbox(store, { takeMs: NEVER_MS }), new Mailbox(far, { takeMs: NEVER_MS })];
    try {
      await work(a, b, { near: store, far });
      const left = () => store.list("serve/mail/");
      await waitFor(async () => (await left()).length === 0, { label: "no message to be left" });
    } finally {
      a.close();
      b.close();
    }
  };

/** A promise and the function that resolves it. */
function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export const mailboxCases: readonly StoreCase[] = [
  {
    name: "a message is answered, from another replica and from the same one",
    run: withReplicas(async (a, b) => {
      const stop = b.receive("call", async (body, { principal }) => ({ body, principal }), ADA);
      const body = { text: "∆ 🙂", n: [1, null] };
      const reply = { body, principal: "ada" };
      expect(await a.send(b.replica, "call", body, ADA)).toEqual(reply);
      expect(await b.send(b.replica, "call", body, ADA)).toEqual(reply);
      stop();
      for (const sender of [a, b])
        await expect(sender.send(b.replica, "call", body, ADA)).rejects.toMatchObject({
          code: "UNKNOWN_MESSAGE",
        });
    }),
  },
  {
    name: "another user's message gets the answer of an unknown one",
    run: withReplicas(async (a, b) => {
      let handled = 0;
      b.receive("call", async () => ++handled, ADA);
      b.receive("anonymous", async () => ++handled, { principal: undefined });
      const requests = [
        ["call", "bob"],
        ["call", undefined],
        ["anonymous", "ada"],
        ["no such", "ada"],
      ] as const;
      const sent = [a, b].flatMap((sender) =>
        requests.map(([id, principal]) =>
          sender.send(b.replica, id, {}, { principal }).then(String, (error: Error) => error.message),
        ),
      );
      const messages = new Set(await Promise.all(sent));
      expect([...messages]).toEqual([expect.stringContaining("UNKNOWN_MESSAGE")]);
      expect(handled).toBe(0);
    }),
  },
  {
    name: "each of many messages is handled once, also by two processes with one name",
    async run({ store, another }) {
      const far = await another();
      const senders = [new Mailbox(store), new Mailbox(await another())];
      const owners = [new Mailbox(far, { replica: "one" }), new Mailbox(await another(), { replica: "one" })];
      const handled: unknown[] = [];
      for (const owner of owners) {
        owner.receive(
          "call",
          async (body) => {
            handled.push(body);
            return body;
          },
          ADA,
        );
      }
      const bodies = Array.from({ length: 20 }, (_, index) => index);
      const replies = bodies.map((body) => senders[body % 2]!.send("one", "call", body, ADA));
      expect(await Promise.all(replies)).toEqual(bodies);
      expect(handled.sort((x, y) => Number(x) - Number(y))).toEqual(bodies);
      for (const mailbox of [...senders, ...owners]) mailbox.close();
    },
  },
  {
    name: "a message to a dead replica is withdrawn: it never runs later",
    async run({ store, another }) {
      const sender = new Mailbox(store, { takeMs: 100 });
      const sent = sender.send("dead", "call", {}, ADA);
      await expect(sent).rejects.toMatchObject({ code: "UNDELIVERABLE", outcome: "unknown" });
      const owner = new Mailbox(await another(), { replica: "dead" });
      expect(await store.list("serve/mail/")).toEqual([]);
      owner.close();
      sender.close();
    },
  },
  {
    name: "an error of the handler reaches the sender",
    run: withReplicas(async (a, b) => {
      b.receive("call", () => Promise.reject(new Error("the upstream failed")), ADA);
      b.receive("cycle", async () => Object.assign([], { toJSON: () => 1n }), ADA);
      await expect(a.send(b.replica, "call", {}, ADA)).rejects.toMatchObject({
        code: "MESSAGE_FAILED",
        outcome: "unknown",
        message: expect.stringContaining("the upstream failed"),
      });
      await expect(a.send(b.replica, "cycle", {}, ADA)).rejects.toMatchObject({ code: "MESSAGE_FAILED" });
    }),
  },
  {
    name: "a sender that gives up aborts the handler, and a long handler is waited for",
    run: withReplicas(async (a, b) => {
      const [started, aborted, finish] = [deferred(), deferred(), deferred<string>()];
      b.receive(
        "gives up",
        (_body, { signal }) => {
          signal.addEventListener("abort", () => aborted.resolve());
          started.resolve();
          return new Promise(() => {});
        },
        ADA,
      );
      b.receive("long", () => finish.promise, ADA);
      const controller = new AbortController();
      const long = a.send(b.replica, "long", {}, ADA);
      const sent = a.send(b.replica, "gives up", {}, { ...ADA, signal: controller.signal });
      await started.promise;
      controller.abort(new Error("the client left"));
      await expect(sent).rejects.toThrow("the client left");
      await aborted.promise;
      finish.resolve("late");
      expect(await long).toBe("late");
      await expect(a.send(b.replica, "x", {}, { ...ADA, signal: controller.signal })).rejects.toThrow("left");
    }),
  },
  {
    name: "a forged message is ignored, a repeated one is not handled again, one of a newer version is refused",
    run: withReplicas(async (a, b, { near }) => {
      const handled: unknown[] = [];
      b.receive("call", async (body) => handled.push(body), ADA);
      const request = { format: 2, kind: "request", id: "call", ...ADA };
      const key = (name: string) => `serve/mail/${b.replica}/${name}`;
      await near.put(key("forged"), { ...request, body: "forged" });
      await near.put(key("real"), { ...request, body: "real" }, { secret: true });
      const kindOf = async (name: string) =>
        ((await near.get(key(name)))?.value as { kind?: string } | undefined)?.kind;
      await waitFor(async () => (await kindOf("real")) === "reply", { label: "the reply" });
      await near.put(key("real"), { ...request, body: "repeated" }, { secret: true });
      await near.put(key("newer"), { format: 3, to: "call" }, { secret: true });
      await waitFor(async () => (await kindOf("newer")) === "unknown", { label: "the refusal" });
      expect(await a.send(b.replica, "call", "last", ADA)).toBe(2);
      expect(handled).toEqual(["real", "last"]);
      for (const name of ["forged", "real", "newer"]) await near.delete(key(name));
    }),
  },
  {
    name: "closing ends what waits and what works",
    async run({ store, another }) {
      const [a, b] = [new Mailbox(store), new Mailbox(await another())];
      const [started, aborted] = [deferred(), deferred()];
      b.receive(
        "call",
        (_body, { signal }) => {
          signal.addEventListener("abort", () => aborted.resolve());
          started.resolve();
          return new Promise(() => {});
        },
        ADA,
      );
      const sent = a.send(b.replica, "call", {}, ADA).catch((error: Error) => error.message);
      await started.promise;
      a.close();
      expect(await sent).toBe("The gateway is closed");
      await aborted.promise;
      b.close();
      await expect(a.send(b.replica, "call", {}, ADA)).rejects.toThrow("closed");
    },
  },
];
