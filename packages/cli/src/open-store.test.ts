import { join } from "node:path";
import { expect, test } from "vitest";
import { statePath } from "./open-store.js";

const base = { flag: undefined, isOff: false, env: {}, cwd: "/project", home: "/home/ada" };

test.each([
  ["linux", {}, join("/home/ada", ".local", "state", "toolport", "state.db")],
  ["linux", { XDG_STATE_HOME: "/states" }, join("/states", "toolport", "state.db")],
  ["darwin", {}, join("/home/ada", "Library", "Application Support", "toolport", "state.db")],
  ["win32", { LOCALAPPDATA: "/local" }, join("/local", "toolport", "state.db")],
  ["linux", { TOOLPORT_STATE: "here.db" }, "/project/here.db"],
  ["linux", { TOOLPORT_STATE: "off" }, undefined],
] as const)("on %s with %j", (platform, env, expected) => {
  expect(statePath({ ...base, platform, env })).toBe(expected);
});

test("options override the environment", () => {
  const env = { TOOLPORT_STATE: "off" };
  expect(statePath({ ...base, env, flag: "mine.db" })).toBe("/project/mine.db");
  expect(statePath({ ...base, env: {}, flag: "mine.db", isOff: true })).toBeUndefined();
});
