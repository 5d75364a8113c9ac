import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../errors/config-error.js";
import { enterServeChain, extendServeChain } from "./serve-chain.js";

test("gateways with different files may be nested, up to a depth of three", () => {
  const first = extendServeChain(undefined, ["/a.json"]);
  const second = extendServeChain(first, ["/b.json"]);
  const third = extendServeChain(second, ["/c.json"]);
  const fourth = extendServeChain(third, ["/d.json"]);
  expect(fourth.split("/")).toHaveLength(4);
  expect(() => extendServeChain(fourth, ["/e.json"])).toThrow(/4 gateways above/);
});

test("a gateway below one with the same files is refused, in any order", () => {
  const above = extendServeChain(undefined, ["/a.json", "/b.json"]);
  expect(() => extendServeChain(above, ["/b.json", "/a.json"])).toThrow(ConfigError);
});

test("a gateway with a part of the files above it is refused, one with more files is not", () => {
  const above = extendServeChain(undefined, ["/a.json", "/b.json"]);
  expect(() => extendServeChain(above, ["/b.json"])).toThrow(/\/b\.json/);
  expect(() => extendServeChain(above, ["/b.json", "/c.json"])).not.toThrow();
});

test("a link to the same file is the same file", () => {
  const folder = mkdtempSync(join(tmpdir(), "toolport-chain-"));
  try {
    const [file, link] = [join(folder, "a.json"), join(folder, "b.json")];
    writeFileSync(file, "{}");
    symlinkSync(file, link);
    expect(() => extendServeChain(extendServeChain(undefined, [file]), [link])).toThrow(ConfigError);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a gateway without files is limited by its depth", () => {
  let chain: string | undefined;
  for (let depth = 0; depth < 4; depth++) chain = extendServeChain(chain, []);
  expect(() => extendServeChain(chain, [])).toThrow(ConfigError);
});

test("a strange value of the variable counts, and does no harm", () => {
  expect(extendServeChain("x", ["/a.json"])).toMatch(/^x\/[\da-f]{16}$/);
  expect(() => extendServeChain("////", ["/a.json"])).toThrow(ConfigError);
});

test("the variable is set until the gateway ends", () => {
  const env: NodeJS.ProcessEnv = {};
  const leave = enterServeChain(["/a.json"], env);
  expect(env["TOOLPORT_SERVE_CHAIN"]).toMatch(/^[\da-f]{16}$/);
  const leaveInner = enterServeChain(["/b.json"], env);
  leaveInner();
  expect(env["TOOLPORT_SERVE_CHAIN"]).not.toContain("/");
  leave();
  expect(env).toEqual({});
});
