/** Processes that fetch the same tool at once each get a complete one, and keep it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-tools-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Installs a package of many files, and finishes at the same moment as the others. */
const npm = `
  const { mkdirSync, writeFileSync } = require("node:fs");
  const prefix = process.argv[process.argv.indexOf("--prefix") + 1];
  const home = prefix + "/node_modules/some-tool";
  mkdirSync(home, { recursive: true });
  writeFileSync(home + "/package.json", JSON.stringify({ version: "1.2.3" }));
  for (let file = 0; file < 300; file++) writeFileSync(home + "/main.js" + (file || ""), "tool");
  setTimeout(() => {}, 500 - (Date.now() % 500));
`;

/** Reads the tool for as long as others may still be installing theirs. */
const program = (cache: string) => `
  import { existsSync } from "node:fs";
  import { fetchTool } from ${JSON.stringify(new URL("../../scripts/fetch-tool.mjs", import.meta.url).href)};
  const home = await fetchTool("tool", "some-tool", "1.2.3", { into: ${JSON.stringify(cache)} });
  for (let reads = 0; reads < 300; reads++) {
    if (!existsSync(home + "/main.js")) process.exit(9);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
`;

it("gives every process a complete tool that stays", async () => {
  const npmFile = join(folder, "npm.cjs");
  await writeFile(npmFile, npm);
  const cache = join(folder, "cache");
  const file = join(folder, "program.mjs");
  await writeFile(file, program(cache));
  const codes = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const child = spawn(process.execPath, [file], {
        stdio: "ignore",
        env: { ...process.env, npm_execpath: npmFile },
      });
      return (await once(child, "close"))[0];
    }),
  );
  expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await readdir(cache)).toEqual(["tool@1.2.3"]);
});
