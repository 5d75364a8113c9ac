/** The arguments that the system's opener receives. */
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { openInBrowser } from "./authorize-in-browser.js";

const path = process.env["PATH"];
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-open-"));
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true, force: true });
});

describe.skipIf(process.platform !== "linux")("openInBrowser", () => {
  it("passes the URL as one argument without a shell", async () => {
    await writeFile(join(folder, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > "${folder}/seen"\n`);
    await chmod(join(folder, "xdg-open"), 0o755);
    process.env["PATH"] = `${folder}${delimiter}${path}`;
    const url = new URL(`https://auth.example.com/$(touch%20${folder}/x);a&b\`id\`?q="$(touch ${folder}/y)"`);
    expect(await openInBrowser(url)).toBe(true);
    const seen = await waitFor(() => readFile(join(folder, "seen"), "utf8"));
    expect(seen).toBe(`1\n${url.href}\n`);
    expect((await readdir(folder)).sort()).toEqual(["seen", "xdg-open"]);
  });

  it("returns false without a browser", async () => {
    process.env["PATH"] = folder;
    expect(await openInBrowser(new URL("https://auth.example.com/"))).toBe(false);
  });
});
