/** Table rows of the commands that show what servers offer and how they are. */
import { type CommandSpec, OPTIONAL_SERVER, SERVER, TYPED_OPTIONS } from "../command.js";

export const LOOK_COMMANDS: readonly CommandSpec[] = [
  {
    name: "tools",
    summary: "List tools, or describe one tool",
    group: "look",
    positionals: [
      {
        name: "server",
        summary: "Only this server (a name or a URL), or server.tool for one tool",
        completes: "tool",
        optional: true,
      },
    ],
    options: {
      cost: { type: "boolean", summary: "Show about how many tokens each tool takes, largest first" },
      ...TYPED_OPTIONS,
    },
    takesTyped: "tool",
    examples: [
      ["toolport tools", "the tools of all servers"],
      ["toolport tools --cost", "what their definitions cost in every request to a model"],
      ["toolport tools weather.forecast", "one tool, with its arguments"],
      ["toolport tools https://example.com/mcp", "a server that is not configured"],
      ["toolport tools -- npx -y @modelcontextprotocol/server-everything", "the same for a command"],
    ],
    load: async () => (await import("./tools.js")).toolsCommand,
  },
  {
    name: "resources",
    summary: "List resources and resource templates",
    group: "look",
    positionals: [OPTIONAL_SERVER],
    options: TYPED_OPTIONS,
    takesTyped: "server",
    examples: [["toolport resources docs", "the resources of one server"]],
    load: async () => (await import("./resources.js")).resourcesCommand,
  },
  {
    name: "prompts",
    summary: "List prompts",
    group: "look",
    positionals: [OPTIONAL_SERVER],
    options: TYPED_OPTIONS,
    takesTyped: "server",
    examples: [["toolport prompts", "the prompts of all servers"]],
    load: async () => (await import("./prompts.js")).promptsCommand,
  },
  {
    name: "find",
    summary: "Search for tools",
    group: "look",
    positionals: [{ name: "words", summary: "What the tool should do", completes: "none", rest: true }],
    options: { limit: { type: "string", value: "<count>", summary: "Maximum number of tools (10)" } },
    examples: [["toolport find weather forecast", "the best matches come first"]],
    load: async () => (await import("./tools.js")).findCommand,
  },
  {
    name: "inspect",
    summary: "Show everything about a server: handshake, capabilities, schemas",
    group: "look",
    positionals: [SERVER],
    options: {
      raw: { type: "boolean", summary: "Show the exchanged messages, with secrets redacted" },
      ...TYPED_OPTIONS,
    },
    takesTyped: "server",
    examples: [
      ["toolport inspect weather --raw", "with every message"],
      ["toolport inspect -- node server.js", "a server that is not configured"],
    ],
    load: async () => (await import("./inspect.js")).inspectCommand,
  },
  {
    name: "watch",
    summary: "Print events of the servers, one JSON line each, until Ctrl-C",
    group: "look",
    positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers" }],
    options: TYPED_OPTIONS,
    takesTyped: "servers",
    examples: [["toolport watch | jq -r .server", "every event names its server"]],
    load: async () => (await import("./watch.js")).watchCommand,
  },
  {
    name: "doctor",
    summary: "Check files, servers, logins and state, and suggest fixes",
    group: "look",
    positionals: [OPTIONAL_SERVER],
    options: TYPED_OPTIONS,
    takesTyped: "server",
    examples: [
      ["toolport doctor", "check everything"],
      ["toolport doctor weather --json", "one server, as JSON"],
    ],
    load: async () => (await import("./doctor.js")).doctorCommand,
  },
];
