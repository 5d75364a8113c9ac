/** The memory of verified tokens is bounded, and forgets what was used least recently. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { VerifiedTokens } from "./verified-tokens.js";

const identity = (name: string) => ({ principal: name, scopes: [] });

afterEach(() => {
  vi.useRealTimers();
});

describe("verified tokens", () => {
  it("are at most 10,000, the most recently used", () => {
    let now = 0;
    const tokens = new VerifiedTokens(() => now);
    for (let index = 0; index < 10_000; index++) tokens.add(`${index}`, identity(`${index}`));
    // The order is exact to a second.
    now = 1_000;
    expect(tokens.get("0", "Bearer 0")).toEqual(identity("0"));
    tokens.add("new", identity("new"));
    expect(tokens.get("1", "Bearer 1")).toBeUndefined();
    expect(tokens.get("0", "Bearer 0")).toEqual(identity("0"));
    expect(tokens.get("9999", "Bearer 9999")).toEqual(identity("9999"));
  });

  it("are found by their header for a second, and no longer than they are valid", () => {
    vi.useFakeTimers();
    let now = 0;
    const tokens = new VerifiedTokens(() => now);
    tokens.add("key", { ...identity("ada"), expiresAt: 500 });
    expect(tokens.recent("Bearer ada")).toBeUndefined();
    tokens.get("key", "Bearer ada");
    expect(tokens.recent("Bearer ada")).toMatchObject({ principal: "ada" });
    expect(tokens.recent("bearer ada")).toBeUndefined();
    now = 500;
    expect(tokens.recent("Bearer ada")).toBeUndefined();
    now = 0;
    vi.advanceTimersByTime(1_000);
    expect(tokens.recent("Bearer ada")).toBeUndefined();
    expect(tokens.get("key", "Bearer ada")).toMatchObject({ principal: "ada" });
    tokens.close();
    expect(tokens.recent("Bearer ada")).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});
