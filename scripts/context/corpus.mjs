/** The servers of the report: the corpus of test/fixtures/definitions, and one server with results of 1 MB. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../fetch-tool.mjs";

const folder = join(root, "test", "fixtures", "definitions");
const program = fileURLToPath(new URL("corpus-server.mjs", import.meta.url));

const entryOf = (...args) => ({ command: process.execPath, args: [program, ...args] });

/** Stdio entries by name. */
export const CORPUS = Object.fromEntries(
  readdirSync(folder).map((file) => [file.replace(/\.json$/, ""), entryOf(join(folder, file))]),
);

/** The server with large results, and the calls that return them. */
export const BIG = { big: entryOf("--big") };
export const BIG_CALLS = ["list_issues", "read_log"];
