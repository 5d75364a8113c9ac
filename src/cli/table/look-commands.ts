/** Commands that show what servers offer. */
import type { CommandSpec } from "../command.js";
import { OPTIONAL_SERVER, SERVER } from "./words.js";

export const LOOK_COMMANDS: readonly CommandSpec[] = [
  {
    name: "tools",
    summary: "Show tools, or everything about one",
    group: "look",
    positionals: [
      {
        name: "server",
        summary: "Only this server, or server.tool for one tool",
        completes: "tool",
        optional: true,
      },
    ],
    options: {},
    examples: [
      ["toolport tools", "the tools of all servers"],
      ["toolport tools weather.forecast", "one tool, with its arguments"],
    ],
    load: () => import("../commands/tools.js"),
  },
  {
    name: "resources",
    summary: "Show resources and templates of resources",
    group: "look",
    positionals: [OPTIONAL_SERVER],
    options: {},
    examples: [["toolport resources docs", "what can be read there"]],
    load: () => import("../commands/resources.js"),
  },
  {
    name: "prompts",
    summary: "Show prompts",
    group: "look",
    positionals: [OPTIONAL_SERVER],
    options: {},
    examples: [["toolport prompts", "the prompts of all servers"]],
    load: () => import("../commands/prompts.js"),
  },
  {
    name: "find",
    summary: "Find tools by words",
    group: "look",
    positionals: [{ name: "words", summary: "What the tool should do", completes: "none", rest: true }],
    options: { limit: { type: "string", value: "<count>", summary: "How many at most (10)" } },
    examples: [["toolport find weather forecast", "the tools that fit best come first"]],
    load: () => import("../commands/find.js"),
  },
  {
    name: "inspect",
    summary: "Show all a server says about itself: handshake, capabilities, schemas",
    group: "look",
    positionals: [SERVER],
    options: { raw: { type: "boolean", summary: "Show the messages that were exchanged, secrets blanked" } },
    examples: [["toolport inspect weather --raw", "with every message"]],
    load: () => import("../commands/inspect.js"),
  },
  {
    name: "watch",
    summary: "Print what happens to the servers, one JSON line per event, until Ctrl-C",
    group: "look",
    positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers" }],
    options: {},
    examples: [["toolport watch | jq -r .server", "every event names its server"]],
    load: () => import("../commands/watch.js"),
  },
];
