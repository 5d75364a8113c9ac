import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Outbox } from "./process-transport.js";

/** A pipe that accepts nothing until the test releases it. */
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

/** A pipe whose reader has closed it. */
function brokenPipe(): Writable {
  const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
  stream.on("error", () => {});
  return stream;
}

const errorOf = (outcome: string) => new Error(outcome);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("Outbox", () => {
  it("writes all lines of one turn together, in order", async () => {
    const { stream, written, takeAll } = slowPipe();
    const outbox = new Outbox(stream, errorOf);
    const sent = Promise.all([outbox.send("a\n"), outbox.send("b\n"), outbox.send("c\n")]);
    await turn();
    takeAll();
    await sent;
    expect(written).toEqual(["a\nb\nc\n"]);
  });

  it("keeps lines during a write, then writes them together", async () => {
    const { stream, written, takeAll } = slowPipe();
    const outbox = new Outbox(stream, errorOf);
    let first = false;
    const waiting = outbox.send("x".repeat(200)).then(() => {
      first = true;
    });
    await turn();
    const others = Promise.all([outbox.send("b\n"), outbox.send("c\n")]);
    await turn();
    expect([first, written.length]).toEqual([false, 1]);
    takeAll();
    await waiting;
    await turn();
    takeAll();
    await others;
    expect(written[1]).toBe("b\nc\n");
  });

  it("rejects waiting lines as unsent when it is closed", async () => {
    const { stream } = slowPipe();
    const outbox = new Outbox(stream, errorOf);
    const writing = outbox.send("x".repeat(100_000));
    await turn();
    const waiting = outbox.send("b\n");
    outbox.close();
    outbox.close();
    await expect(waiting).rejects.toThrow("unsent");
    await expect(outbox.send("c\n")).rejects.toThrow("unsent");
    outbox.abandon();
    await expect(writing).rejects.toThrow("unknown");
  });

  it("reports a failed write of one line, or of a short batch, as unsent", async () => {
    for (const lines of [["x".repeat(100_000)], ["a\n", "b\n"]]) {
      const outbox = new Outbox(brokenPipe(), errorOf);
      const outcomes = await Promise.allSettled(lines.map((line) => outbox.send(line)));
      expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason.message)).toEqual(
        lines.map(() => "unsent"),
      );
    }
  });

  it("reports a failed write of a long batch as unknown", async () => {
    let writes = 0;
    const stream = new Writable({
      write: (_chunk, _encoding, done) => setImmediate(done, ++writes === 1 ? null : new Error("EPIPE")),
    });
    stream.on("error", () => {});
    const outbox = new Outbox(stream, errorOf);
    const first = outbox.send("a\n");
    await turn();
    // These wait for the first write, so they are written together.
    const outcomes = await Promise.allSettled([outbox.send("x".repeat(5_000)), outbox.send("b\n")]);
    await first;
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason.message)).toEqual([
      "unknown",
      "unknown",
    ]);
  });

  it("writes lines of one turn in short batches, of which a failed one is known to be unsent", async () => {
    const outbox = new Outbox(brokenPipe(), errorOf);
    const outcomes = await Promise.allSettled(
      ["x".repeat(3_000), "y".repeat(3_000)].map((line) => outbox.send(line)),
    );
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason.message)).toEqual([
      "unsent",
      "unsent",
    ]);
  });
});
