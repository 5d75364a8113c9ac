import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readProjectFiles } from "./expand-entry.js";
import { createFileReader } from "./read-servers.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-files-"));
  for (const [path, text] of Object.entries({
    "home/secret": "of the user",
    "home/code/project/.env": "A=1",
    "home/code/project/keys/one": "first",
    "home/code/shared.env": "B=1",
    "home/code-2/other": "elsewhere",
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(entry: Record<string, unknown>, envFile?: string) {
  const [home, projectDir] = [join(folder, "home"), join(folder, "home/code/project")];
  const asked: string[] = [];
  const opened: string[] = [];
  const readFile = createFileReader();
  return readProjectFiles(
    { entry, envFile },
    {
      home,
      projectDir,
      baseDir: projectDir,
      workspaceFolder: projectDir,
      bare: false,
      env: { STAGE: ".", SECRET: "no" },
      askInput: async (id) => {
        asked.push(id);
        return { value: "." };
      },
      readFile: (path) => {
        opened.push(path);
        return readFile(path);
      },
      report: () => expect.unreachable(),
      warn: () => expect.unreachable(),
    },
  ).then((files) => ({ files, asked, opened: opened.map((path) => path.slice(folder.length + 1)) }));
}

describe("the project files that an entry refers to", () => {
  it("are found at any depth, and no other files are opened", async () => {
    const { files, opened, asked } = await read(
      {
        url: `https://x.example/?a=\${file:~/secret}&b=\${file:keys/one}&c=\${input:never}`,
        oauth: { clientSecret: [`\${file:./keys/../keys/one}`, `$\${file:.env}`] },
        headers: { "X-Other": `\${file:../../code-2/other}`, "X-Gone": `{file:gone}` },
      },
      `\${workspaceFolder}/\${STAGE}/.env`,
    );
    expect(files).toEqual({
      ".env": "content: A=1",
      "keys/one": "content: first",
      gone: expect.stringMatching(/^problem: .*does not exist/),
    });
    expect(opened.every((path) => path.startsWith("home/code/project/"))).toBe(true);
    expect(asked).toEqual([]);
  });

  it("include files of the surrounding repository, unless it is the home directory", async () => {
    expect((await read({}, "../shared.env")).files).toEqual({});
    mkdirSync(join(folder, "home/.git"));
    expect((await read({}, "../shared.env")).files).toEqual({});
    mkdirSync(join(folder, "home/code/.git"));
    expect((await read({}, "../shared.env")).files).toEqual({ "shared.env": "content: B=1" });
    expect((await read({ a: `\${file:~/secret}` })).files).toEqual({});
  });

  it("include links in the project and links into it", async () => {
    symlinkSync(join(folder, "home/secret"), join(folder, "home/code/project/link"));
    symlinkSync(join(folder, "home/code/project/keys"), join(folder, "home/into"));
    const { files } = await read({ a: `\${file:link}`, b: `\${file:~/into/one}` });
    expect(files).toEqual({ link: "content: of the user", "keys/one": "content: first" });
  });

  it("are read once, so that the compared content is used", async () => {
    const readFile = createFileReader();
    const path = join(folder, "home/code/project/.env");
    const before = await readFile(path);
    writeFileSync(path, "A=2");
    expect(await readFile(path)).toBe(before);
  });
});
