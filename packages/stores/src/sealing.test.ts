import { describe, expect, test } from "vitest";
import {
  createKeyRing,
  createSealer,
  createStoreKey,
  type StoreKey,
  unkeyedSealer,
  withUnkeyed,
} from "./sealing.js";

const [OLD, NEW] = [createStoreKey(), createStoreKey()];
const sealer = (keys: StoreKey | StoreKey[]) => createSealer(() => createKeyRing(keys));

describe("a sealed text", () => {
  test("is opened by the same key and reveals nothing", async () => {
    const sealed = await sealer(OLD).seal("tokens/a", "a secret ä\u{1f600}");
    expect(JSON.stringify(sealed)).not.toContain("secret");
    expect(sealed.kid).toMatch(/^[0-9a-f]{8}$/);
    expect(await sealer(OLD).open("tokens/a", sealed)).toBe("a secret ä\u{1f600}");
  });

  test("is different every time", async () => {
    const once = await sealer(OLD).seal("a", "x");
    const again = await sealer(OLD).seal("a", "x");
    expect(again.iv).not.toBe(once.iv);
    expect(again.data).not.toBe(once.data);
  });

  test("of an older key is opened while the ring contains the key, and is not current", async () => {
    const sealed = await sealer(OLD).seal("a", "x");
    const rotated = sealer([NEW, OLD]);
    expect(await rotated.open("a", sealed)).toBe("x");
    expect(await rotated.isCurrent(sealed)).toBe(false);
    expect(await rotated.isCurrent(await rotated.seal("a", "x"))).toBe(true);
  });

  test("of an unknown key throws an error with the key id and advice", async () => {
    const sealed = await sealer(OLD).seal("a", "x");
    const { currentId } = await createKeyRing(NEW);
    await expect(sealer(NEW).open("a", sealed)).rejects.toMatchObject({
      name: "StateError",
      code: "KEY_MISMATCH",
      message: expect.stringMatching(new RegExp(`${sealed.kid}.*${currentId}.*TOOLPORT_STORE_KEY`)),
    });
  });

  test.each([
    ["data", (text: string) => `${text[0] === "A" ? "B" : "A"}${text.slice(1)}`],
    ["data", (text: string) => text.slice(0, -8)],
    ["data", () => ""],
    ["data", () => "%%%"],
    ["iv", (text: string) => `${text[0] === "A" ? "B" : "A"}${text.slice(1)}`],
    ["iv", () => ""],
  ] as const)("whose %s was changed is corrupt (%#)", async (field, change) => {
    const sealed = await sealer(OLD).seal("a", "x");
    const changed = { ...sealed, [field]: change(sealed[field]) };
    await expect(sealer(OLD).open("a", changed)).rejects.toMatchObject({ code: "CORRUPT" });
  });

  test("that was moved to another record is corrupt", async () => {
    const sealed = await sealer(OLD).seal("tokens/mine", "x");
    await expect(sealer(OLD).open("tokens/yours", sealed)).rejects.toMatchObject({ code: "CORRUPT" });
  });

  test("cannot be forged without the key", async () => {
    const forged = await unkeyedSealer.seal("a", "x");
    await expect(sealer(OLD).open("a", forged)).rejects.toMatchObject({ code: "KEY_MISMATCH" });
    expect(await withUnkeyed(sealer(OLD)).open("a", forged)).toBe("x");
    const real = await sealer(OLD).seal("a", "x");
    await expect(unkeyedSealer.open("a", real)).rejects.toMatchObject({ code: "KEY_MISMATCH" });
  });
});

test("keys are loaded once, and again only after a failure", async () => {
  let fetched = 0;
  const flaky = createSealer(async () => {
    fetched++;
    if (fetched === 1) throw new Error("not yet");
    return createKeyRing(OLD);
  });
  await expect(flaky.seal("a", "x")).rejects.toThrow("not yet");
  await Promise.all([flaky.seal("a", "x"), flaky.seal("b", "x")]);
  expect(fetched).toBe(2);
});
