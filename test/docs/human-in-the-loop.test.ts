/** The code of `docs/human-in-the-loop.md` runs against a server that asks, and does what the page says. */
import type { ResumeInput, Suspended } from "toolport";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { openBookingPage } from "./booking-page.js";

const openPage = () => openBookingPage("docs/human-in-the-loop.md");
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
