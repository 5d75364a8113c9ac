/** Commands about which servers there are. */
import type { CommandSpec } from "../command.js";
import { OPTIONAL_SERVER } from "./words.js";

export const SERVER_COMMANDS: readonly CommandSpec[] = [
  {
    name: "list",
    summary: "Show the servers: state, tools, where they come from",
    group: "servers",
    positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers" }],
    options: {},
    examples: [
      ["toolport list", "connect to every server and show how it went"],
      ["toolport list --json", "the same for a program"],
    ],
    load: () => import("../commands/list.js"),
  },
];
