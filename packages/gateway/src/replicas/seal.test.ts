/** Sealed values: what opens, what does not, and for how long. */

import { memoryStore } from "@toolport/stores";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type GatewayKeys, loadGatewayKeys } from "./gateway-key.js";
import { createSeal, type Seal } from "./seal.js";

const DAY_MS = 86_400_000;

describe("a seal", () => {
  const store = memoryStore();
  let keys: GatewayKeys;
  let seal: Seal;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    keys = await loadGatewayKeys(store);
    seal = createSeal(keys);
  });
  afterEach(async () => {
    vi.useRealTimers();
    keys.close();
    await store.delete("serve/keys");
  });

  test.each([[null], [0], [""], ["text ∆ 🙂"], [[1, { a: [] }]], [{ principal: "a", exp: Infinity }]])(
    "opens %j for its purpose only",
    (value) => {
      const text = seal.seal("session", value);
      expect(text).toMatch(/^[\w-]+$/);
      expect(seal.open("session", text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(seal.open("cursor", text)).toBeUndefined();
      expect(seal.open("session/", text)).toBeUndefined();
    },
  );

  test("seals the same value differently each time, without readable parts", () => {
    const texts = new Set(Array.from({ length: 600 }, () => seal.seal("session", "user-canary")));
    expect(texts.size).toBe(600);
    for (const text of texts) {
      expect(Buffer.from(text, "base64url").toString("latin1")).not.toContain("canary");
      expect(seal.open("session", text)).toBe("user-canary");
    }
  });

  test("refuses every text that differs in one character, is cut, or is longer", () => {
    const text = seal.seal("session", { principal: "a" });
    for (let index = 0; index < text.length; index++) {
      for (const character of ["A", "B", "_", "é", " ", "="]) {
        if (text[index] === character) continue;
        expect(
          seal.open("session", text.slice(0, index) + character + text.slice(index + 1)),
        ).toBeUndefined();
      }
      expect(seal.open("session", text.slice(0, index))).toBeUndefined();
      expect(seal.open("session", `${text.slice(0, index)}.${text.slice(index)}`)).toBeUndefined();
    }
    expect(seal.open("session", `${text}=`)).toBeUndefined();
    expect(seal.open("session", ` ${text}`)).toBeUndefined();
    expect(seal.open("session", text + text)).toBeUndefined();
    expect(seal.open("session", "x".repeat(1_000_000))).toBeUndefined();
    expect(seal.open("session", undefined as unknown as string)).toBeUndefined();
  });

  test("accepts exactly one text for one value, although base64 has several spellings", () => {
    // The last character of some lengths has unused bits.
    for (let length = 0; length < 8; length++) {
      const text = seal.seal("session", "x".repeat(length));
      const bytes = Buffer.from(text, "base64url");
      const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
      const spellings = [...alphabet]
        .map((last) => text.slice(0, -1) + last)
        .filter((other) => Buffer.from(other, "base64url").equals(bytes));
      expect(spellings.filter((other) => seal.open("session", other) !== undefined)).toEqual([text]);
    }
  });

  test("expires with a minute for clocks that differ", () => {
    const text = seal.seal("state", { exp: Date.now() + 1_000 });
    vi.setSystemTime(Date.now() + 60_900);
    expect(seal.open("state", text)).toBeDefined();
    vi.setSystemTime(Date.now() + 200);
    expect(seal.open("state", text)).toBeUndefined();
    // A replica whose clock is a minute late opens what another one sealed.
    vi.setSystemTime(Date.now() - 122_000);
    expect(seal.open("state", text)).toBeDefined();
  });

  test("opens what was sealed before a rotation for a week, and verifies hashes for ever", async () => {
    const [text, hash] = [seal.seal("session", "old"), seal.mac("audit", "line")];
    await keys.rotate({ delayMs: 0 });
    expect(seal.seal("session", "old").slice(0, 6)).not.toBe(text.slice(0, 6));
    vi.setSystemTime(Date.now() + DAY_MS);
    expect(seal.open("session", text)).toBe("old");
    vi.setSystemTime(Date.now() + 7 * DAY_MS);
    expect(seal.open("session", text)).toBeUndefined();
    expect(seal.mac("audit", "line")).not.toBe(hash);
    expect(seal.mac("audit", "line", hash)).toBe(hash);
    expect(seal.mac("audit", "other", hash)).not.toBe(hash);
    expect(seal.mac("arguments", "line", hash)).not.toBe(hash);
    expect(seal.mac("audit", "line", "ffffffff.x")).toBe("");
    expect(seal.mac("audit", "line", "no key id")).toBe("");
  });

  test("uses a new key only after the others had time to read it", async () => {
    const before = seal.mac("audit", "").slice(0, 8);
    await keys.rotate();
    expect(seal.mac("audit", "").slice(0, 8)).toBe(before);
    vi.setSystemTime(Date.now() + 120_001);
    expect(seal.mac("audit", "").slice(0, 8)).not.toBe(before);
  });

  test("does not open another format, which a newer version may write", () => {
    const bytes = Buffer.from(seal.seal("session", "x"), "base64url");
    for (let format = 0; format < 256; format++) {
      bytes[0] = format;
      expect(seal.open("session", bytes.toString("base64url"))).toBe(format === 1 ? "x" : undefined);
    }
  });

  test("refuses to seal what is not JSON", () => {
    expect(() => seal.seal("session", undefined)).toThrow("JSON");
  });
});
