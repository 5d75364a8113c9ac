/** The code of `docs/human-in-the-loop.md` runs against a server that asks, and does what the page says. */
import type { ResumeInput, Suspended } from "toolport";
import type { InterruptedCall } from "toolport/langchain";
import { describe, expect, test } from "vitest";
import { scriptedAiSdkModel } from "../../packages/adapters/test/ai-sdk-model.js";
import { failure } from "../support/failure.js";
import { ScriptedModel } from "../suspend/langgraph-graphs.js";
import { openBookingPage } from "./booking-page.js";
import { readMarkdown } from "./markdown.js";

const PAGE = "docs/human-in-the-loop.md";
const openPage = () => openBookingPage(PAGE);
const seat = { answers: { seat: { action: "accept" as const, content: { seat: "12A" } } } };

test("the loop: an approval, a question, a result, in two requests", async () => {
  await using page = openPage();
  const { printed } = await page.run("while (isSuspended(out))");
  expect(printed).toEqual([
    ["approval", "travel", "travel__book", { to: "Oslo" }],
    ["input", "travel", "travel__book", { to: "Oslo" }],
    "Which seat?",
    "booked Oslo, seat 12A, meal none",
  ]);
  expect(page.seen).toMatchObject({ requests: 2, booked: [{ to: "Oslo" }] });
});

test("the web application: the answer of another user is refused", async () => {
  const exports = {} as {
    book(user: string, to: string): Promise<Suspended>;
    waiting(user: string): Promise<Suspended[]>;
    answer(user: string, token: string, content: Record<string, string>): Promise<string>;
  };
  await using page = openPage();
  await page.run("export async function book", { exports, process });
  const { token } = await exports.book("ada", "Oslo");
  expect((await exports.waiting("ada")).map((call) => call.token)).toEqual([token]);
  expect(await exports.waiting("bob")).toEqual([]);
  expect(await failure(exports.answer("bob", token, { seat: "1A" }))).toMatchObject({
    code: "SUSPENSION_UNKNOWN",
  });
  expect(await exports.answer("ada", token, { seat: "12A" })).toBe("booked Oslo, seat 12A, meal none");
  expect(page.seen.booked).toHaveLength(1);
});

describe("OUTCOME_UNKNOWN", () => {
  test.each([
    [true, "It was done", 1],
    [false, "booked Oslo, seat 12A, meal none", 2],
  ])("hasRun: %s", async (hasRun, answer, bookings) => {
    let isLost = false;
    await using page = openPage();
    const toolport = page.open({
      interceptors: [
        (next) => async (call) => {
          const result = await next(call);
          if (isLost) throw new Error("The result is lost");
          return result;
        },
      ],
    });
    const { printed } = await page.run("async function finish", { toolport });
    const finish = printed[0] as (
      token: string,
      input: ResumeInput,
      check: () => Promise<boolean>,
    ) => Promise<string>;
    const { token } = (await toolport.callTool(
      "travel__book",
      { to: "Oslo" },
      { suspend: true },
    )) as Suspended;
    isLost = true;
    await failure(toolport.resume(token, seat));
    isLost = false;
    expect(await finish(token, seat, async () => hasRun)).toBe(answer);
    expect(page.seen.booked).toHaveLength(bookings);
    expect(await failure(toolport.discard(token))).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
  });
});

test("the key: the second call sends nothing", async () => {
  await using page = openPage();
  const { printed } = await page.run("const orderId", { toolport: page.open() });
  expect(printed).toEqual([true]);
  expect(page.seen.requests).toBe(1);
});

test("the event, and the counts of snapshot()", async () => {
  await using page = openPage();
  const { printed } = await page.run('on("suspension"', { toolport: page.open() });
  expect(printed).toEqual([{ suspended: 0, resumed: 0, discarded: 0 }]);
});

test("LangGraph: two calls of an agent ask, and each is sent once", async () => {
  await using page = openPage();
  const exports = {} as {
    chat(model: unknown, text: string, decide: (call: InterruptedCall) => ResumeInput): Promise<string>;
  };
  await page.run("export async function chat", { exports, toolport: page.open() });
  const asked: unknown[] = [];
  const script = ["Oslo", "Rome"].map((to) => ({ name: "travel__book", args: { to } }));
  const answer = await exports.chat(new ScriptedModel(script), "Book two flights", ({ args }) => {
    asked.push(args["to"]);
    return seat;
  });
  expect([answer, asked.sort()]).toEqual(["done", ["Oslo", "Rome"]]);
  expect(page.seen).toMatchObject({ requests: 4, booked: [{ seat: "12A" }, { seat: "12A" }] });
});

test("AI SDK: a turn ends with the question, and the next one has the result", async () => {
  await using page = openPage();
  type Turn = { messages: unknown[]; pending: Suspended[] };
  const exports = {} as {
    turn(model: unknown, messages: unknown[], answers?: Record<string, ResumeInput>): Promise<Turn>;
  };
  await page.run("export async function turn", { exports, toolport: page.open() });
  const model = scriptedAiSdkModel([[{ name: "travel__book", args: { to: "Oslo" } }], "Bon voyage"]);
  const first = await exports.turn(model, [{ role: "user", content: "Book a flight" }]);
  expect(first.pending).toMatchObject([{ reason: "input", tool: "travel__book" }]);
  const waiting = await exports.turn(model, first.messages);
  expect(waiting.pending).toHaveLength(1);
  const second = await exports.turn(model, first.messages, { [first.pending[0]!.token]: seat });
  expect(second.pending).toEqual([]);
  expect(JSON.stringify(second.messages)).toMatch(/booked Oslo, seat 12A.*Bon voyage/);
  expect(page.seen).toMatchObject({ requests: 2, booked: [{ to: "Oslo" }] });
});

test("every code block of the page is run above", () => {
  expect(readMarkdown(PAGE).blocks.filter(({ language }) => language === "ts")).toHaveLength(7);
});
