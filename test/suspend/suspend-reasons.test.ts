/** `suspend: { reasons }`: anything else happens as in a call without `suspend`. */
import { isSuspended } from "toolport";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { openBooking } from "./booking-scene.js";

const oslo = { to: "Oslo" };

test("approvals only: the server is answered by onElicitation, also after the approval", async () => {
  await using scene = openBooking({
    approve: { when: "always" },
    onElicitation: () => ({ action: "accept", content: { seat: "3C" } }),
  });
  const out = await scene.toolport.callTool("travel__book", oslo, { suspend: { reasons: ["approval"] } });
  if (!isSuspended(out)) throw new Error("not suspended");
  expect(out.reason).toBe("approval");
  expect(await scene.toolport.resume(out.token, { approve: true })).toMatchObject({
    text: "booked Oslo, seat 3C, meal none",
  });
});

test("input only: an approval that is left to a person is REFUSED, unsent", async () => {
  await using scene = openBooking({ approve: { when: "always" } });
  const call = scene.toolport.callTool("travel__book", oslo, { suspend: { key: "a", reasons: ["input"] } });
  expect(await failure(call)).toMatchObject({ code: "REFUSED", outcome: "unsent" });
  expect(scene.seen.requests).toBe(0);
  expect(await scene.toolport.suspended()).toEqual([]);
});

test("an unknown reason is INVALID_ARGUMENTS", async () => {
  await using scene = openBooking({});
  const suspend = { reasons: ["whim"] as never };
  expect(await failure(scene.toolport.callTool("travel__note", oslo, { suspend }))).toMatchObject({
    code: "INVALID_ARGUMENTS",
    issues: [{ path: "suspend.reasons" }],
  });
});
