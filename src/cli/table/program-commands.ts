/** Commands for programs and about this one. */
import type { CommandSpec } from "../command.js";
import { OPTIONAL_SERVER } from "./words.js";

export const PROGRAM_COMMANDS: readonly CommandSpec[] = [
  {
    name: "types",
    summary: "Write a typed TypeScript client of the tools",
    group: "program",
    positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers" }],
    options: { out: { type: "string", value: "<file>", summary: "Write it to this file" } },
    examples: [
      ["toolport types weather --out src/tools.ts", "then: createTools(toolport).weather.forecast({ … })"],
    ],
    load: () => import("../commands/write-types.js"),
  },
];
