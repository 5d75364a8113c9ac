/** Commands about this program: its health, its state, its demo and console, and an agent of its own. */
import type { CommandSpec, OptionSpec } from "../command.js";
import { OPTIONAL_SERVER } from "./words.js";

const MODEL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  "model-url": {
    type: "string",
    value: "<url>",
    summary: "An OpenAI-compatible endpoint, or one of Anthropic's",
  },
  model: { type: "string", value: "<name>", summary: "The model's name there" },
};

export const UPKEEP_COMMANDS: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary: "Look for everything that can be wrong, and say what to do",
    group: "look",
    positionals: [OPTIONAL_SERVER],
    options: {},
    examples: [
      ["toolport doctor", "files, programs, addresses, logins, tools, state"],
      ["toolport doctor weather --json", "one server, for a program"],
    ],
    load: () => import("../commands/doctor.js"),
  },
  {
    name: "run",
    summary: "Let a model do a task with the tools",
    group: "use",
    positionals: [{ name: "task", summary: "What it is to do", completes: "none", rest: true }],
    options: {
      ...MODEL_OPTIONS,
      api: {
        type: "string",
        value: "<kind>",
        choices: ["openai", "anthropic"],
        summary: "What the endpoint speaks (guessed from its URL)",
      },
      server: { type: "string", multiple: true, value: "<name>", summary: "Only the tools of this server" },
      "max-steps": { type: "string", value: "<count>", summary: "Ask the model no more often (20)" },
      search: { type: "boolean", summary: "Give it a search over the tools instead of all of them" },
    },
    examples: [
      ['toolport run "What will the weather be in Oslo?"', "with OPENAI_API_KEY or ANTHROPIC_API_KEY"],
      ['toolport run "Tidy my notes" --model-url http://127.0.0.1:11434/v1', "with a model of your own"],
    ],
    load: () => import("../commands/run.js"),
  },
  {
    name: "console",
    summary: "Show the servers in a page on this machine",
    group: "program",
    positionals: [],
    options: {
      port: { type: "string", value: "<number>", summary: "Where to listen (any that is free)" },
      open: { type: "boolean", summary: "Open it in the browser" },
    },
    examples: [["toolport console --open", "Ctrl-C ends it"]],
    load: () => import("../commands/console.js"),
  },
  {
    name: "demo",
    summary: "See it all work, with servers of its own and nothing but this machine",
    group: "program",
    positionals: [],
    options: {
      console: { type: "boolean", summary: "Keep its servers up and show them in the console, until Enter" },
      once: { type: "boolean", summary: "End after the last step, as it does without --console" },
      ...MODEL_OPTIONS,
    },
    examples: [["toolport demo", "every transport, a login, a crash, a fallback, in seconds"]],
    load: () => import("../commands/demo.js"),
  },
  {
    name: "state",
    summary: "Look at what is saved, and look after it",
    group: "program",
    positionals: [
      {
        name: "action",
        summary: "ls (what is saved), gc (tidy up), migrate, reseal (after a new key), path",
        completes: "none",
        optional: true,
        choices: ["ls", "gc", "migrate", "reseal", "path"],
      },
      { name: "prefix", summary: "With ls: only keys that begin so", completes: "none", optional: true },
    ],
    options: { "dry-run": { type: "boolean", summary: "With gc: only show what would go" } },
    examples: [
      ["toolport state", "what is saved, by kind"],
      ["toolport state gc --dry-run", "what is of no use any more"],
    ],
    load: () => import("../commands/state.js"),
  },
  {
    name: "completion",
    summary: "Print the completion for a shell",
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
    load: () => import("../commands/completion.js"),
  },
  {
    name: "__complete",
    summary: "What may stand at the end of a command line",
    group: "program",
    isHidden: true,
    positionals: [],
    takesCommand: true,
    options: {},
    examples: [],
    load: () => import("../commands/complete.js"),
  },
];
