/** The page at the end of a login: static, and of no use to anybody who frames or scripts it. */
import { describe, expect, it } from "vitest";
import { failurePage, successPage } from "./login-callback.js";

describe.each([
  ["successPage", successPage, 200],
  ["failurePage", failurePage, 400],
] as const)("%s", (_, page, status) => {
  it("says the same to everybody and lets nothing run", async () => {
    const response = page();
    expect(response.status).toBe(status);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-security-policy": expect.stringContaining("default-src 'none'"),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
    const text = await response.text();
    expect(text).toBe(await page().text());
    expect(text).not.toMatch(/<script|<style|http/);
  });
});
