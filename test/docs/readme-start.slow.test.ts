/** The first program of the README, pasted into a file of its own, with the real servers that it names. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { published } from "../tree/source-files.js";
import { readMarkdown, root } from "./markdown.js";

const program = readMarkdown("README.md").blocks.find(({ language }) => language === "ts");

test("is short, and complete as it stands", () => {
  expect(program?.text.trim().split("\n").length).toBeLessThanOrEqual(25);
  expect(program?.text).not.toContain("…");
  // A syntax error in plain JavaScript before Node 24.
  expect(program?.text).not.toContain("await using");
});

test("runs when pasted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolport-readme-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const modules = join(folder, "node_modules");
  await mkdir(modules);
  await symlink(published, join(modules, "toolport"), "dir");
  // npx takes the packages from here instead of the registry.
  for (const name of ["@modelcontextprotocol", ".bin"])
    await symlink(join(root, "node_modules", name), join(modules, name), "dir");
  await writeFile(join(folder, "index.mjs"), program?.text ?? "");

  const { stdout } = await promisify(execFile)(process.execPath, ["index.mjs"], { cwd: folder });
  expect(stdout).toMatch(/^files ready \d+ $/m);
  expect(stdout).toMatch(/^everything ready \d+ $/m);
  expect(stdout).toContain("files says:\n");
  expect(stdout).toContain("[FILE] index.mjs");
});
