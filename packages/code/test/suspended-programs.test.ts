/** Programs that wait for a person (C18): saved, continued by another code mode with the same store, every call made once. */
import { createToolport, isSuspended, memoryStore, type Store, type ToolportOptions } from "toolport";
import { type CodeMode, type CodeOutcome, type CodeSuspended, createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { createBookingServer } from "../../../test/suspend/booking-server.js";

const FIVE = `
  const rows = Array.from({ length: 1000 }, (_, index) => ({ index, at: Date.now() }));
  const before = [Math.random(), rows[999].at];
  const seen = [];
  for (let n = 1; n <= 5; n += 1) {
    seen.push(await tools.box.work({ n }));
    console.log("after", n);
  }
  return { seen, rows: rows.length, isSame: before[1] === rows[999].at };
`;

/** A server that counts what it does. */
function createBox() {
  const done: number[] = [];
  const server = createTestServer({
    tools: {
      work: {
        inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        handler: ({ n }) => {
          done.push(n as number);
          return `did ${n as number}`;
        },
      },
    },
  });
  return { server, done };
}

/** A program as a process of its own would see it: another port, another code mode, the same store. */
async function inNewProcess<Result>(
  { store, ...options }: ToolportOptions & { store: Store },
  use: (code: CodeMode) => Promise<Result>,
): Promise<Result> {
  await using toolport = createToolport({ ...options, store });
  await using code = createCodeMode(toolport);
  return await use(code);
}

const waiting = (outcome: CodeOutcome): CodeSuspended => {
  if (!isSuspended(outcome)) throw new Error(`The program does not wait: ${JSON.stringify(outcome)}`);
  return outcome as CodeSuspended;
};

test("a program with five calls that must be approved is continued five times, each call made once", async () => {
  const { server, done } = createBox();
  const options = {
    mcpServers: { box: server.memory() },
    store: memoryStore(),
    approve: { when: "always" as const },
  };
  try {
    let outcome = await inNewProcess(options, (code) => code.execute(FIVE, { suspend: true }));
    for (let n = 1; n <= 5; n += 1) {
      const { token, reason, tool, args, logs, calls } = waiting(outcome);
      expect({ reason, tool, args }).toEqual({ reason: "approval", tool: "box__work", args: { n } });
      expect(token).toMatch(/^tpp1\./);
      expect(logs).toHaveLength(n - 1);
      expect(calls).toHaveLength(n);
      expect(done).toHaveLength(n - 1);
      outcome = await inNewProcess(options, (code) => code.resume(token, { approve: true }));
    }
    expect(outcome).toMatchObject({
      value: { seen: [1, 2, 3, 4, 5].map((n) => `did ${n}`), rows: 1000, isSame: true },
      logs: [1, 2, 3, 4, 5].map((n) => `after ${n}`),
    });
    expect(outcome.calls.map(({ ok, code }) => [ok, code])).toEqual(Array(5).fill([true, undefined]));
    expect(done).toEqual([1, 2, 3, 4, 5]);
    // Nothing of it stays in the store.
    expect(await options.store.list("programs/")).toEqual([]);
    expect(await options.store.list("suspended/")).toEqual([]);
  } finally {
    await server.close();
  }
});

describe("a program that asks", () => {
  const BOOK = `
    const note = await tools.travel.note({ to: "Bergen" });
    const booked = await tools.travel.book({ to: "Oslo" });
    return [note, booked];
  `;

  test("is continued with the answer; wrong answers, other users and used tokens change nothing", async () => {
    const { server, seen } = createBookingServer();
    const options = { mcpServers: { travel: server.memory() }, store: memoryStore() };
    try {
      const out = waiting(await inNewProcess(options, (code) => code.execute(BOOK, { suspend: true })));
      expect(out).toMatchObject({
        reason: "input",
        server: "travel",
        requests: { seat: { message: "Which seat?" } },
      });
      const wrong = { answers: { seat: { action: "accept" as const, content: { seat: 1 } } } };
      await inNewProcess(options, async (code) => {
        expect(await failure(code.resume(out.token, wrong))).toMatchObject({
          code: "INVALID_ARGUMENTS",
          outcome: "unsent",
        });
        const forged = `${out.token.slice(0, -1)}${out.token.endsWith("A") ? "B" : "A"}`;
        for (const token of [forged, "tpp1.x", ""])
          expect(await failure(code.resume(token))).toMatchObject({
            code: "SUSPENSION_UNKNOWN",
            outcome: "unsent",
          });
      });
      await using toolport = createToolport(options);
      await using other = createCodeMode(toolport.as("bob"));
      expect(await failure(other.resume(out.token, wrong))).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
      const answers = { seat: { action: "accept" as const, content: { seat: "12A" } } };
      const end = await inNewProcess(options, (code) => code.resume(out.token, { answers }));
      expect(end).toMatchObject({ value: ["noted Bergen", "booked Oslo, seat 12A, meal none"] });
      expect(
        await inNewProcess(options, (code) => failure(code.resume(out.token, { answers }))),
      ).toMatchObject({
        code: "SUSPENSION_UNKNOWN",
      });
      expect(seen).toMatchObject({ requests: 3, booked: [{ to: "Bergen" }, { to: "Oslo", seat: "12A" }] });
    } finally {
      await server.close();
    }
  });

  test("asks again if the server has a second question, without running the program in between", async () => {
    const { server, seen } = createBookingServer();
    const options = { mcpServers: { travel: server.memory() }, store: memoryStore() };
    const accept = (content: Record<string, string | boolean>) => ({ action: "accept" as const, content });
    try {
      const first = waiting(
        await inNewProcess(options, (code) =>
          code.execute(`return tools.travel.tour({ to: "Oslo" })`, { suspend: true }),
        ),
      );
      const second = waiting(
        await inNewProcess(options, (code) =>
          code.resume(first.token, { answers: { seat: accept({ seat: "12A" }) } }),
        ),
      );
      expect(second.token).not.toBe(first.token);
      expect(await inNewProcess(options, (code) => failure(code.resume(first.token)))).toMatchObject({
        code: "SUSPENSION_UNKNOWN",
      });
      const [key] = Object.keys(second.requests);
      const end = await inNewProcess(options, (code) =>
        code.resume(second.token, { answers: { [key!]: accept({ pay: true }) } }),
      );
      expect(end.error).toBeUndefined();
      expect(seen.booked).toHaveLength(1);
    } finally {
      await server.close();
    }
  });
});

describe("several calls at once", () => {
  const ALL = `return Promise.allSettled([1, 2, 3].map((n) => tools.box.work({ n })))
    .then((all) => all.map(({ value, reason }) => value ?? reason.code));`;

  test("wait for one person after the other; a refusal is an error in the program", async () => {
    const { server, done } = createBox();
    const options = {
      mcpServers: { box: server.memory() },
      store: memoryStore(),
      approve: ({ args }: { args: { n?: number } }) => (args.n === 2 ? true : ("suspend" as const)),
    } as ToolportOptions & { store: Store };
    try {
      const first = waiting(await inNewProcess(options, (code) => code.execute(ALL, { suspend: true })));
      expect(first.args).toEqual({ n: 1 });
      expect(done).toEqual([2]);
      const second = waiting(
        await inNewProcess(options, (code) => code.resume(first.token, { approve: true })),
      );
      expect(second.args).toEqual({ n: 3 });
      const end = await inNewProcess(options, (code) => code.resume(second.token, { approve: false }));
      expect(end.value).toEqual(["did 1", "did 2", "REFUSED"]);
      expect(done.sort()).toEqual([1, 2]);
    } finally {
      await server.close();
    }
  });
});

describe("a key", () => {
  test("finds the program again: while it waits, and when it has ended", async () => {
    const { server, done } = createBox();
    const options = {
      mcpServers: { box: server.memory() },
      store: memoryStore(),
      approve: { when: "always" as const },
    };
    const source = `return tools.box.work({ n: 1 })`;
    const suspend = { key: "order-7" };
    try {
      const out = waiting(await inNewProcess(options, (code) => code.execute(source, { suspend })));
      await inNewProcess(options, async (code) => {
        expect(await code.execute(source, { suspend })).toMatchObject({ suspended: true, token: out.token });
        expect(await failure(code.execute(`return 1`, { suspend }))).toMatchObject({ code: "KEY_REUSED" });
        expect(
          await failure(code.execute(source, { suspend: { key: "order-8", create: false } })),
        ).toMatchObject({
          code: "SUSPENSION_UNKNOWN",
        });
        expect(await code.resume(out.token, { approve: true })).toMatchObject({ value: "did 1" });
        expect(await code.execute(source, { suspend })).toMatchObject({ value: "did 1" });
      });
      expect(done).toEqual([1]);
    } finally {
      await server.close();
    }
  });
});

test("a tool that changed is not called, and one that is gone is not found", async () => {
  const store = memoryStore();
  const versions = ["Works", "Works in another way"].map((description) =>
    createTestServer({
      tools: { ask: { handler: () => "asked" }, work: { description, handler: () => "worked" } },
    }),
  );
  const source = `
    await tools.box.ask();
    try { return await tools.box.work(); } catch (error) { return error.code; }
  `;
  const approve = ({ tool }: { tool: { sourceName: string } }) =>
    tool.sourceName === "ask" ? ("suspend" as const) : true;
  try {
    const [before, after] = versions.map(
      (server) => ({ mcpServers: { box: server.memory() }, store, approve }) as never,
    );
    const out = waiting(await inNewProcess(before!, (code) => code.execute(source, { suspend: true })));
    const end = await inNewProcess(after!, (code) => code.resume(out.token, { approve: true }));
    expect(end.value).toBe("TOOL_CHANGED");
  } finally {
    await Promise.all(versions.map((server) => server.close()));
  }
});

test("an image of another engine is not continued, and an executor that saves no images suspends nothing", async () => {
  const { server, done } = createBox();
  const options = {
    mcpServers: { box: server.memory() },
    store: memoryStore(),
    approve: { when: "always" as const },
  };
  const source = `return tools.box.work({ n: 1 })`;
  try {
    const out = waiting(await inNewProcess(options, (code) => code.execute(source, { suspend: true })));
    await using toolport = createToolport(options);
    const never = { ended: new Promise<never>(() => {}), answer() {}, stop: async () => {} };
    await using code = createCodeMode(toolport, { executor: { version: "other", start: () => never } });
    expect(await failure(code.resume(out.token, { approve: true }))).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
    });
    expect(await failure(code.execute(source, { suspend: true }))).toMatchObject({
      code: "NOT_OFFERED",
      outcome: "unsent",
    });
    expect(done).toEqual([]);
  } finally {
    await server.close();
  }
});
