import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@toolport/base";
import { expect, test } from "vitest";
import { enterServeChain, extendServeChain, runsGateway } from "./serve-settings.js";

const COMMANDS = ["list", "call", "serve"];
const own = "/srv/own/main.js";

const GATEWAYS: readonly (readonly string[])[] = [
  ["toolport", "serve"],
  ["/usr/local/bin/toolport", "--config", "a.json", "serve"],
  ["C:\\tools\\toolport.cmd", "serve", "--read-only"],
  ["npx", "toolport", "serve"],
  ["npx", "-y", "toolport@0.2.0", "serve", "--servers", "a"],
  ["npx", "--package", "toolport@latest", "--", "toolport", "serve"],
  ["pnpm", "dlx", "toolport", "serve"],
  ["bunx", "toolport", "serve"],
  ["npm", "exec", "--yes", "toolport", "--", "serve"],
  ["node", "/srv/node_modules/toolport/dist/cli/main.js", "serve"],
  ["sh", "-c", "cd /srv && exec npx -y toolport serve --http 0"],
  ["cmd", "/c", "npx toolport serve"],
];

test.each(GATEWAYS)("recognises a gateway: %s %s", (command, ...args) => {
  expect(runsGateway({ command, args }, COMMANDS, own)).toBe(true);
});

const OTHERS: readonly (readonly string[])[] = [
  ["toolport", "call", "serve.tool"],
  ["npx", "-y", "some-server", "serve"],
  ["node", "/srv/toolport-tools/server.js", "serve"],
  ["sh", "-c", "npx toolport-server serve"],
  ["node", "server.js", "--name", "toolport"],
];

test.each(OTHERS)("leaves other programs alone: %s %s", (command, ...args) => {
  expect(runsGateway({ command, args }, COMMANDS, own)).toBe(false);
});

test("recognises the file of the running program, whatever its folder is called", () => {
  const folder = mkdtempSync(join(tmpdir(), "toolpo-rt-"));
  const [main, other] = [join(folder, "main.js"), join(folder, "not-main.js")];
  try {
    for (const file of [main, other]) writeFileSync(file, "");
    const runs = (file: string) => runsGateway({ command: "node", args: [file, "serve"] }, COMMANDS, main);
    expect([main, other, join(folder, "missing/main.js")].map(runs)).toEqual([true, false, false]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a server with an address is no gateway of this machine", () => {
  expect(runsGateway({ url: "http://127.0.0.1:1/mcp" }, COMMANDS, own)).toBe(false);
});

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
