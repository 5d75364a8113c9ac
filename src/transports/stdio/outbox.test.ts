import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Outbox } from "./outbox.js";

/** A pipe that takes nothing until told to. */
function slowPipe(highWaterMark = 100) {
  const written: string[] = [];
  const taken: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark,
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      taken.push(done);
    },
  });
  const takeAll = () => {
    for (const done of taken.splice(0)) done();
  };
  return { stream, written, takeAll };
}

const errors = { unsent: () => new Error("unsent"), unknown: () => new Error("unknown") };
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("Outbox", () => {
  it("writes everything of one turn at once, in order", async () => {
    const { stream, written } = slowPipe();
    const outbox = new Outbox(stream, errors);
    await Promise.all([outbox.send("a\n"), outbox.send("b\n"), outbox.send("c\n")]);
    expect(written).toEqual(["a\nb\nc\n"]);
  });

  it("holds lines back while the pipe is full and resolves when it drains", async () => {
    const { stream, written, takeAll } = slowPipe();
    const outbox = new Outbox(stream, errors);
    await outbox.send("x".repeat(200));
    await turn();
    let sent = false;
    const waiting = outbox.send("b\n").then(() => {
      sent = true;
    });
    await turn();
    expect([sent, written.length]).toEqual([false, 1]);
    takeAll();
    await waiting;
    expect(written[1]).toBe("b\n");
  });

  it("lets the sender of a large message wait itself", async () => {
    const { stream, takeAll } = slowPipe();
    const outbox = new Outbox(stream, errors);
    let sent = false;
    const waiting = outbox.send("x".repeat(100_000)).then(() => {
      sent = true;
    });
    await turn();
    expect(sent).toBe(false);
    takeAll();
    await waiting;
  });

  it("rejects all who wait when it is closed, and says which lines never left", async () => {
    const { stream } = slowPipe();
    const outbox = new Outbox(stream, errors);
    const outcomes = Promise.allSettled([outbox.send("x".repeat(100_000)), outbox.send("b\n")]);
    outbox.close();
    outbox.close();
    const reasons = (await outcomes).map((outcome) => (outcome as PromiseRejectedResult).reason.message);
    expect(reasons).toEqual(["unknown", "unsent"]);
    await expect(outbox.send("c\n")).rejects.toThrow("unsent");
  });
});
