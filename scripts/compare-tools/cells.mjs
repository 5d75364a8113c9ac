/** Building blocks of the rows: commands of the three programs, and what to expect of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../fetch-tool.mjs";

export const t = (args, expect, more = {}) => ({ program: "toolport", args, expect, ...more });
export const m = (args, expect, more = {}) => ({ program: "mcporter", args, expect, ...more });
/** The Inspector's command line, with one server of its file. */
export const i = (server, args, expect, more = {}) => ({
  program: "inspector",
  args: ["--cli", "--config", "mcp.json", "--server", server, ...args],
  expect,
  ...more,
});
/** The Inspector's command line with a server that is not in a file. */
export const adHoc = (args, expect, more = {}) => ({
  program: "inspector",
  args: ["--cli", ...args],
  expect,
  ...more,
});
/** The Inspector's second program, which keeps connections open. */
export const d = (args, expect, more = {}) => ({ program: "mcpdo", args, expect, ...more });

export const steps = (...list) => ({ steps: list });
/** Not checked by a command: read in the documentation or the sources of that version. */
export const read = (mark) => ({ read: mark });
/** The same, for Toolport: ● if its guide says so. */
export const documented = (guide, pattern) =>
  read(pattern.test(readFileSync(join(root, guide), "utf8")) ? "●" : "○");

export const list = ["--method", "tools/list"];
export const call = (tool, ...args) => ["--method", "tools/call", "--tool-name", tool, ...args];
export const tool = (name) => new RegExp(`\\b${name}\\b`);

/** A call for the program that mcporter records. */
export const helloWithMcporter = ["call", "web.hello"];
