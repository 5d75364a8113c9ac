import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toContentParts } from "@toolport/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { safeName, saveBytes } from "./call-result.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-bytes-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const data = Buffer.from("picture").toString("base64");

test.each([
  ["../../etc/passwd", "etc-passwd"],
  ["..", "file-"],
  ["", "file-"],
  ["con", "file-con"],
  [".bashrc", "bashrc"],
  ["a/b\\c:d\u0000e\u001b[31m", "a-b-c-d-e-31m"],
  ["x".repeat(200), "x".repeat(80)],
])("names a file for %j %j", (text, name) => {
  expect(safeName(text)).toBe(name);
});

test("saves binary parts under safe names without overwriting existing files", async () => {
  writeFileSync(join(folder, "s-t-1.png"), "mine");
  symlinkSync("/dev/null", join(folder, "s-t-2.png"));
  const parts = toContentParts([
    { type: "text", text: "hello" },
    { type: "image", data, mimeType: "image/png" },
    { type: "audio", data, mimeType: "audio/mpeg; codecs=x" },
    { type: "resource", resource: { uri: "file:///../../x", blob: data, mimeType: "../../evil" } },
  ]);
  const saved = await saveBytes(parts, { folder, stem: "s-t" });
  expect(saved).toEqual([
    { index: 1, path: join(folder, "s-t-3.png"), mimeType: "image/png", bytes: 7 },
    { index: 2, path: join(folder, "s-t-1.mp3"), mimeType: "audio/mpeg", bytes: 7 },
    { index: 3, path: join(folder, "s-t-1.bin"), mimeType: "../../evil", bytes: 7 },
  ]);
  expect(readdirSync(folder).sort()).toEqual([
    "s-t-1.bin",
    "s-t-1.mp3",
    "s-t-1.png",
    "s-t-2.png",
    "s-t-3.png",
  ]);
  expect(readFileSync(join(folder, "s-t-1.png"), "utf8")).toBe("mine");
  expect(readFileSync(join(folder, "s-t-3.png"), "utf8")).toBe("picture");
});
