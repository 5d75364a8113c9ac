/** The page at the end of a login: static, without scripts, and not framable. */
import { describe, expect, it } from "vitest";
import { callbackPage } from "./login-callback.js";

describe.each([
  ["successPage", () => callbackPage(true), 200],
  ["failurePage", () => callbackPage(false), 400],
] as const)("%s", (_, page, status) => {
  it("is always the same and allows no scripts", async () => {
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
