/** The memory of verified tokens is bounded, and forgets what was used least recently. */
import { describe, expect, it } from "vitest";
import { VerifiedTokens } from "./authenticator.js";

const identity = (name: string) => ({ principal: name, scopes: [] });

describe("verified tokens", () => {
  it("are at most 10,000, the most recently used", () => {
    let now = 0;
    const tokens = new VerifiedTokens(() => now);
    for (let index = 0; index < 10_000; index++) tokens.add(`${index}`, identity(`${index}`));
    // The order is exact to a second.
    now = 1_000;
    expect(tokens.get("0")).toEqual(identity("0"));
    tokens.add("new", identity("new"));
    expect(tokens.get("1")).toBeUndefined();
    expect(tokens.get("0")).toEqual(identity("0"));
    expect(tokens.get("9999")).toEqual(identity("9999"));
  });

  it("are valid no longer than the token", () => {
    let now = 0;
    const tokens = new VerifiedTokens(() => now);
    tokens.add("key", { ...identity("ada"), expiresAt: 500 });
    expect(tokens.get("key")).toMatchObject({ principal: "ada" });
    now = 500;
    expect(tokens.get("key")).toBeUndefined();
  });
});
