import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runsGateway } from "./runs-gateway.js";

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
