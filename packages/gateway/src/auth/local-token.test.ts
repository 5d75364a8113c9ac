/** The local token: one file, one token, one reader. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { loadLocalToken } from "./local-token.js";

let folder: string;
let warnings: string[];
const load = (path: string) => loadLocalToken(path, (message) => warnings.push(message));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-token-"));
  warnings = [];
  return () => rm(folder, { recursive: true });
});

describe("the local token", () => {
  it("is made once, with 256 bits, readable by this user only", async () => {
    const path = join(folder, "state", "serve-token");
    const first = load(path);
    expect(first).toEqual({ token: expect.stringMatching(/^[\w-]{43}$/), isNew: true });
    expect(load(path)).toEqual({ token: first.token, isNew: false });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "utf8")).toBe(`${first.token}\n`);
    expect(load(join(folder, "other")).token).not.toBe(first.token);
  });

  it("loses the permissions of other users, with a warning", async () => {
    const path = join(folder, "serve-token");
    load(path);
    await chmod(path, 0o644);
    load(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([expect.stringContaining("accessible to other users")]);
  });

  it.each(["", "short", `${"a".repeat(40)}\n${"b".repeat(40)}`, `${"a".repeat(40)} b`])(
    "is not read from a file with %j",
    async (text) => {
      const path = join(folder, "serve-token");
      await writeFile(path, text, { mode: 0o600 });
      expect(() => load(path)).toThrow(/must contain one token.*Delete the file/s);
      if (text !== "") expect(() => load(path)).not.toThrow(text);
    },
  );

  it("is read through links, as a secret of Kubernetes is mounted", async () => {
    await mkdir(join(folder, "..2026"));
    await writeFile(join(folder, "..2026", "token"), `${"a".repeat(40)}\n`, { mode: 0o400 });
    await symlink("..2026", join(folder, "..data"));
    await symlink(join("..data", "token"), join(folder, "token"));
    expect(load(join(folder, "token"))).toEqual({ token: "a".repeat(40), isNew: false });
    expect(warnings).toEqual([]);
  });

  it("keeps the permissions of a file behind a link, with a warning", async () => {
    const file = join(folder, "other");
    const { token } = load(file);
    await chmod(file, 0o644);
    await symlink(file, join(folder, "token"));
    expect(load(join(folder, "token")).token).toBe(token);
    expect((await stat(file)).mode & 0o777).toBe(0o644);
    expect(warnings).toEqual([expect.stringContaining("defaultMode: 0400")]);
  });

  it("is not created through a link", async () => {
    const path = join(folder, "token");
    await symlink(join(folder, "missing"), path);
    expect(() => load(path)).toThrow(/token file .* is a link to a file that does not exist/);
    expect(await readdir(folder)).toEqual(["token"]);
  });

  it("is not read from anything but a file", async () => {
    await symlink(folder, join(folder, "token"));
    expect(() => load(join(folder, "token"))).toThrow("is not a file");
  });
});
