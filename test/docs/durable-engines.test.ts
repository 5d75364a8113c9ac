/** The functions of `docs/durable-engines.md` call a tool once, however often an engine runs them. */
import type { ResumeInput } from "toolport";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { openBookingPage } from "./booking-page.js";

interface Call {
  key: string;
  name: string;
  args: Record<string, unknown>;
}
type Progress = { done: true; text: string } | { done: false; reason: string; round: number };

interface Functions {
  callOnce(call: Call): Promise<Progress>;
  resumeOnce(call: Call, asked: Progress, input: ResumeInput): Promise<Progress>;
  isFinal(error: unknown): boolean;
}

const answer = (key: string, content: Record<string, string | boolean>): ResumeInput => ({
  answers: { [key]: { action: "accept", content } },
});

test("every attempt gets the same question, then the same result, and nothing is sent twice", async () => {
  await using page = openBookingPage("docs/durable-engines.md");
  const exports = {} as Functions;
  await page.run("export async function callOnce", { exports, process });
  const call = { key: "workflow-7/tour", name: "travel__tour", args: { to: "Oslo" } };

  const first = await exports.callOnce(call);
  expect(first).toMatchObject({ done: false, reason: "input", round: 1 });
  expect(JSON.stringify(first)).not.toContain("tpc1.");
  expect(await exports.callOnce(call)).toEqual(first);
  expect(page.seen.requests).toBe(1);

  const second = await exports.resumeOnce(call, first, answer("seat", { seat: "12A" }));
  expect(second).toMatchObject({ done: false, round: 2 });
  // The process died before the engine saved the second question: the same step runs again.
  expect(await exports.resumeOnce(call, first, answer("seat", { seat: "12A" }))).toEqual(second);
  expect(page.seen.requests).toBe(2);

  const result = await exports.resumeOnce(call, second, answer("pay", { pay: true }));
  expect(result).toEqual({ done: true, text: "toured Oslo" });
  expect(await exports.resumeOnce(call, second, answer("pay", { pay: true }))).toEqual(result);
  expect(await exports.callOnce(call)).toEqual(result);
  expect(page.seen).toMatchObject({ requests: 3, booked: [{ to: "Oslo" }] });
});

test("an engine stops at errors that a retry cannot change", async () => {
  await using page = openBookingPage("docs/durable-engines.md");
  const exports = {} as Functions;
  await page.run("export async function callOnce", { exports, process });
  const call = { key: "workflow-7/note", name: "travel__note", args: { to: "Oslo" } };
  await exports.callOnce(call);
  const error = await failure(exports.callOnce({ ...call, args: { to: "Rome" } }));
  expect([error.code, exports.isFinal(error)]).toEqual(["KEY_REUSED", true]);
  expect(exports.isFinal(new Error("a bug"))).toBe(false);
});
