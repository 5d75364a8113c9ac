import type { ToolInfo } from "@toolport/base";
import { expect, test } from "vitest";
import { collectedTools } from "../../../test/support/definitions.js";
import { createProgramApi } from "./program-api.js";

const tool = (server: string, sourceName: string): ToolInfo => ({
  name: `${server}__${sourceName}`,
  server,
  sourceName,
  inputSchema: { type: "object" },
});

const NAMES = [
  "get-sum",
  "get_sum",
  "getSum",
  "delete",
  "constructor",
  "__proto__",
  "then",
  "toJSON",
  "toString",
  "2nd",
  "日本",
  "",
  "a b",
  "URL",
  "*/ } evil(",
  "x".repeat(500),
];

test("every tool has a valid, unique name that leads back to it", () => {
  const tools = [...NAMES.map((name) => tool("box", name)), ...NAMES.map((name) => tool(name, "same"))];
  const api = createProgramApi(tools);
  const found = Object.entries(api.members).flatMap(([server, members]) =>
    members.map((member) => api.toolOf(server, member)),
  );
  expect(new Set(found)).toEqual(new Set(tools));
  for (const [server, members] of Object.entries(api.members))
    for (const name of [server, ...members]) {
      expect(name).toMatch(/^[A-Za-z][A-Za-z0-9_]*$/);
      expect(name in {}, name).toBe(false);
      expect(["then", "toJSON"]).not.toContain(name);
    }
});

test("a name that needs no change stays, whatever else is listed and in which order", () => {
  const names = ["get-sum", "getSum", "get_sum"].map((name) => tool("box", name));
  for (const tools of [names, names.toReversed()]) {
    const api = createProgramApi(tools);
    expect(api.toolOf("box", "getSum")?.sourceName).toBe("getSum");
    expect(api.toolOf("box", "getSum2")?.sourceName).toBe("get-sum");
    expect(api.toolOf("box", "getSum3")?.sourceName).toBe("get_sum");
  }
});

test("unknown members have no tool", () => {
  const api = createProgramApi([tool("box", "get")]);
  for (const name of ["constructor", "__proto__", "put"]) {
    expect(api.toolOf("box", name)).toBeUndefined();
    expect(api.toolOf(name, "get")).toBeUndefined();
  }
});

test("names the tools of 20 real servers", () => {
  const api = createProgramApi(collectedTools);
  expect(api.toolOf("github", "createOrUpdateFile")?.name).toBe("github__create_or_update_file");
  expect(Object.values(api.members).flat()).toHaveLength(collectedTools.length);
});
