/** Table rows of the commands about this program: gateway, typed clients, console, demo, state, shell completion. */
import {
  type CommandSpec,
  flagOption,
  MODEL_OPTIONS,
  OPTIONAL_SERVER,
  TYPED_OPTIONS,
  textOption,
} from "../command.js";
import { SERVE_OPTIONS } from "../serve/serve-settings.js";
import { ANSWERED_BY_OPTION, PRINCIPAL_OPTION } from "../suspended-calls.js";

export const PROGRAM_COMMANDS: readonly CommandSpec[] = [
  {
    name: "serve",
    summary: "Offer all servers as one MCP server, over stdio or HTTP",
    group: "program",
    positionals: [],
    options: SERVE_OPTIONS,
    examples: [
      ["toolport serve", "for a client that starts it"],
      ["toolport serve --http 8080", "on this machine, with a token in a file"],
      ["toolport serve --print-config cursor", "the entry for a client"],
    ],
    load: async () => (await import("./serve.js")).serveCommand,
  },
  {
    name: "types",
    summary: "Write a typed TypeScript client of the tools",
    group: "program",
    positionals: [{ ...OPTIONAL_SERVER, rest: true, summary: "Only these servers" }],
    options: { out: { type: "string", value: "<file>", summary: "Write to this file" }, ...TYPED_OPTIONS },
    takesTyped: "servers",
    examples: [
      ["toolport types weather --out src/tools.ts", "then: createTools(toolport).weather.forecast({ … })"],
    ],
    load: async () => (await import("./write-types.js")).typesCommand,
  },
  {
    name: "console",
    summary: "Show the servers in a local web page",
    group: "program",
    positionals: [],
    options: {
      port: { type: "string", value: "<number>", summary: "Port to listen on (any free one)" },
      open: { type: "boolean", summary: "Open it in the browser" },
      ...PRINCIPAL_OPTION,
      ...ANSWERED_BY_OPTION,
    },
    examples: [["toolport console --open", "Ctrl-C ends it"]],
    load: async () => (await import("./console.js")).consoleCommand,
  },
  {
    name: "demo",
    summary: "Run a demo with its own servers, on this machine only",
    group: "program",
    positionals: [],
    options: {
      console: {
        type: "boolean",
        summary: "Keep the servers running and show them in the console, until Enter",
      },
      once: { type: "boolean", summary: "End after the last step, even with --console" },
      ...MODEL_OPTIONS,
    },
    examples: [["toolport demo", "every transport, a login, a crash and a fallback, in seconds"]],
    load: async () => {
      const { startDemo } = await import("../../demo/start-demo.js");
      return (invocation, context) =>
        startDemo({
          json: context.form === "json",
          console: flagOption(invocation, "console") && !flagOption(invocation, "once"),
          modelUrl: textOption(invocation, "model-url"),
          model: textOption(invocation, "model"),
          signal: context.signal,
        });
    },
  },
  {
    name: "state",
    summary: "Show and maintain the saved state",
    group: "program",
    positionals: [
      {
        name: "action",
        summary: "ls (list), gc (delete unused records), migrate, reseal (after a key change), path",
        completes: "none",
        optional: true,
        choices: ["ls", "gc", "migrate", "reseal", "path"],
      },
      { name: "prefix", summary: "With ls: only keys with this prefix", completes: "none", optional: true },
    ],
    options: { "dry-run": { type: "boolean", summary: "With gc: only show what would be deleted" } },
    examples: [
      ["toolport state", "the saved records, by kind"],
      ["toolport state gc --dry-run", "the records that are no longer used"],
    ],
    load: async () => (await import("./state.js")).stateCommand,
  },
  {
    name: "audit",
    summary: "Check an audit log of a gateway",
    group: "program",
    positionals: [
      {
        name: "action",
        summary: "verify: name the first line that was changed, removed or moved",
        completes: "none",
        choices: ["verify"],
      },
      { name: "file", summary: "The log; older parts of it first", completes: "file", rest: true },
    ],
    options: {
      store: {
        type: "string",
        value: "<url>",
        summary: "The store that the gateway uses ($TOOLPORT_STORE, or the state of this machine)",
      },
    },
    examples: [
      ["toolport audit verify audit.ndjson", "exit code 1 if a line is wrong"],
      ["toolport audit verify audit.ndjson.1 audit.ndjson", "a log in two files"],
    ],
    load: async () => (await import("./audit.js")).auditCommand,
  },
  {
    name: "policy",
    summary: "Check a policy of a gateway, or show what it decides",
    group: "program",
    positionals: [
      {
        name: "action",
        summary: "check: find mistakes; test: show what happens to one request, and by which rule",
        completes: "none",
        choices: ["check", "test"],
      },
      { name: "file", summary: "The policy", completes: "file" },
    ],
    options: {
      user: {
        type: "string",
        value: "<name>",
        summary: "The principal; with --issuer the subject of the token",
      },
      issuer: { type: "string", value: "<url>", summary: "The issuer of the user's token" },
      scope: { type: "string", multiple: true, value: "<name>", summary: "A scope of the user's token" },
      server: { type: "string", value: "<name>", summary: "The server of the tool, prompt or resource" },
      tool: {
        type: "string",
        value: "<name>",
        summary: "Call this tool; without --server the name that clients see",
      },
      prompt: { type: "string", value: "<name>", summary: "Get this prompt" },
      resource: { type: "string", value: "<uri>", summary: "Read this resource" },
      args: { type: "string", value: "<json>", summary: "The arguments of the tool or prompt" },
    },
    examples: [
      ["toolport policy check policy.json", "exit code 2 if a gateway would not start with it"],
      [
        `toolport policy test policy.json --user alice --server files --tool read --args '{"path":"/etc"}'`,
        "exit code 0: allowed, 3: needs approval, 5: denied",
      ],
    ],
    load: async () => (await import("./policy.js")).policyCommand,
  },
  {
    name: "completion",
    summary: "Print the completion script for a shell",
    group: "program",
    positionals: [
      { name: "shell", summary: "bash, zsh or fish", completes: "none", choices: ["bash", "zsh", "fish"] },
    ],
    options: {},
    examples: [
      ["source <(toolport completion bash)", "in ~/.bashrc"],
      ["source <(toolport completion zsh)", "in ~/.zshrc, after compinit"],
      ["toolport completion fish | source", "in ~/.config/fish/config.fish"],
    ],
    load: async () => (await import("./completion.js")).completionCommand,
  },
  {
    name: "__complete",
    summary: "Candidates for the last word of a command line",
    group: "program",
    isHidden: true,
    positionals: [],
    takesCommand: true,
    options: {},
    examples: [],
    load: async () => (await import("./completion.js")).completeCommand,
  },
];
