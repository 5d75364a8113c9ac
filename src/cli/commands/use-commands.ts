/** Table rows of the commands that use tools, resources and prompts. */
import { type CommandSpec, MODEL_OPTIONS, type PositionalSpec, SERVER } from "../command.js";

const ARGUMENTS: PositionalSpec = {
  name: "arguments",
  summary: "Any number of key=value or key:=json",
  completes: "none",
  optional: true,
  rest: true,
};

export const USE_COMMANDS: readonly CommandSpec[] = [
  {
    name: "call",
    summary: "Call a tool",
    group: "use",
    positionals: [
      { name: "server.tool", summary: "The tool, or its public name (server__tool)", completes: "tool" },
      ARGUMENTS,
    ],
    options: {
      args: {
        type: "string",
        value: "<json>",
        summary: "The arguments as JSON, or - to read them from stdin",
      },
      "save-images": {
        type: "string",
        value: "<dir>",
        summary: "Save images, audio and other binary parts of the result in this directory",
      },
      record: {
        type: "string",
        value: "<file>",
        summary: "Record the messages in this file, for replayServer of toolport/testing",
      },
    },
    examples: [
      ["toolport call weather.forecast city=Oslo days:=3", "a string and a number"],
      [
        'echo \'{"city":"Oslo"}\' | toolport call weather.forecast --args -',
        "arguments from another program",
      ],
      ["toolport call charts.draw kind=pie --save-images .", "save the image"],
    ],
    load: async () => (await import("./call.js")).callCommand,
  },
  {
    name: "read",
    summary: "Read a resource",
    group: "use",
    positionals: [SERVER, { name: "uri", summary: "URI of the resource", completes: "resource" }],
    options: { out: { type: "string", value: "<file>", summary: "Write to this file" } },
    examples: [
      ["toolport read docs docs://index", "print its text"],
      ["toolport read docs docs://logo.png --out logo.png", "save its bytes"],
    ],
    load: async () => (await import("./resources.js")).readCommand,
  },
  {
    name: "prompt",
    summary: "Get a prompt, filled in with arguments",
    group: "use",
    positionals: [
      SERVER,
      { name: "name", summary: "Name of the prompt", completes: "prompt" },
      { ...ARGUMENTS, summary: "Any number of key=value" },
    ],
    options: {},
    examples: [["toolport prompt docs review file=src/main.ts", "print its messages"]],
    load: async () => (await import("./prompts.js")).promptCommand,
  },
  {
    name: "run",
    summary: "Let a model do a task with the tools",
    group: "use",
    positionals: [{ name: "task", summary: "The task, in plain words", completes: "none", rest: true }],
    options: {
      ...MODEL_OPTIONS,
      api: {
        type: "string",
        value: "<kind>",
        choices: ["openai", "anthropic"],
        summary: "API of the endpoint (guessed from its URL)",
      },
      server: { type: "string", multiple: true, value: "<name>", summary: "Only the tools of this server" },
      "max-steps": {
        type: "string",
        value: "<count>",
        summary: "Maximum number of requests to the model (20)",
      },
      search: { type: "boolean", summary: "Give the model a tool search instead of all tools" },
    },
    examples: [
      ['toolport run "What will the weather be in Oslo?"', "with OPENAI_API_KEY or ANTHROPIC_API_KEY"],
      ['toolport run "Tidy my notes" --model-url http://127.0.0.1:11434/v1', "with a local model"],
    ],
    load: async () => (await import("./run.js")).runCommand,
  },
];
