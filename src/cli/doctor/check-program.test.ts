import { expect, test } from "vitest";
import { memoryStore } from "../../state/memory-store.js";
import { checkDurability } from "./check-program.js";

test("warns of a store that may lose records, with what to do", async () => {
  const risk = { what: "Redis has no append-only file", next: "Set appendonly yes" };
  expect(await checkDurability({ durabilityRisk: async () => risk })).toEqual([
    {
      check: "state",
      status: "warn",
      message: "Suspended calls may be lost: Redis has no append-only file",
      next: "Set appendonly yes",
    },
  ]);
});

test("reports nothing for durable stores, for stores that do not say, and for memory", async () => {
  const store = memoryStore();
  expect(await checkDurability(store)).toEqual([]);
  expect(await checkDurability({})).toEqual([]);
  expect(await checkDurability({ durabilityRisk: async () => undefined })).toEqual([]);
  await store.close();
});

test("a store that cannot be asked is a warning, not a failure", async () => {
  const findings = await checkDurability({ durabilityRisk: () => Promise.reject(new Error("gone")) });
  expect(findings).toMatchObject([{ status: "warn", message: expect.stringContaining("unknown") }]);
});
