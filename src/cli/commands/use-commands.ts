/** Table rows of the commands that use tools, resources and prompts. */
import { type CommandSpec, MODEL_OPTIONS, type PositionalSpec, SERVER, TYPED_OPTIONS } from "../command.js";
import { ANSWERED_BY_OPTION, PRINCIPAL_OPTION, SUSPEND_OPTIONS } from "../suspended-calls.js";

const ARGUMENTS: PositionalSpec = {
  name: "arguments",
  summary: "Any number of key=value, key:=json or --key value",
  completes: "argument",
  optional: true,
  rest: true,
};

const TOKEN: PositionalSpec = {
  name: "token",
  summary: "Token of the call, or - to read it from stdin, which other users of this machine cannot see",
  completes: "none",
};

const SAVE_IMAGES = {
  "save-images": {
    type: "string",
    value: "<dir>",
    summary: "Save images, audio and other binary parts of the result in this directory",
  },
} as const;

export const USE_COMMANDS: readonly CommandSpec[] = [
  {
    name: "call",
    summary: "Call a tool",
    group: "use",
    positionals: [
      {
        name: "server.tool",
        summary: "The tool, its public name (server__tool), or a call: server.tool(key: value)",
        completes: "tool",
      },
      ARGUMENTS,
    ],
    options: {
      args: {
        type: "string",
        value: "<json>",
        summary: "The arguments as JSON, or - to read them from stdin",
      },
      ...SAVE_IMAGES,
      record: {
        type: "string",
        value: "<file>",
        summary: "Record the messages in this file, for replayServer of toolport/testing",
      },
      idempotent: {
        type: "boolean",
        summary: "The call may run twice: send it again if its outcome is unknown",
      },
      ...SUSPEND_OPTIONS,
      ...PRINCIPAL_OPTION,
      ...TYPED_OPTIONS,
    },
    takesTyped: "tool",
    takesNamed: true,
    examples: [
      ["toolport call weather.forecast city=Oslo days:=3", "a string and a number"],
      ["toolport call weather.forecast --city Oslo --days 3", "the same"],
      [`toolport call 'weather.forecast(city: "Oslo", days: 3)'`, "the same"],
      ["toolport call https://example.com/mcp.search query=x", "a server that is not configured"],
      ['toolport call --stdio "npx -y pkg" search query=x', "the same for a command"],
      [
        'echo \'{"city":"Oslo"}\' | toolport call weather.forecast --args -',
        "arguments from another program",
      ],
      ["toolport call charts.draw kind=pie --save-images .", "save the image"],
      ["toolport call travel.book to=Oslo --suspend --ttl 2d", "questions can be answered later"],
    ],
    load: async () => (await import("./call.js")).callCommand,
  },
  {
    name: "shell",
    summary: "Run several commands in one session, so that servers keep their state",
    group: "use",
    positionals: [
      {
        ...SERVER,
        summary: "Only these servers (names or URLs)",
        completes: "server",
        optional: true,
        rest: true,
      },
    ],
    options: {
      "keep-going": { type: "boolean", summary: "Without a terminal: continue after a line that fails" },
      ...TYPED_OPTIONS,
    },
    takesTyped: "servers",
    examples: [
      ["toolport shell", "with history, completion by Tab, Ctrl-C for the running call, Ctrl-D to end"],
      ["toolport shell -- node server.js", "a server that is not configured"],
      ["toolport shell < script.txt", "one command in each line"],
    ],
    load: async () => (await import("./shell.js")).shellCommand,
  },
  {
    name: "exec",
    summary: "Run a program that calls tools",
    group: "use",
    positionals: [
      {
        name: "file",
        summary: "JavaScript or TypeScript, the body of an async function; - reads it from stdin",
        completes: "file",
      },
    ],
    options: {
      server: { type: "string", multiple: true, value: "<name>", summary: "Only the tools of this server" },
      limit: {
        type: "string",
        multiple: true,
        value: "<name=number>",
        summary: "cpuMs, timeMs, memoryBytes, calls, parallel, outputBytes or resultBytes",
      },
      ...SUSPEND_OPTIONS,
      ...PRINCIPAL_OPTION,
    },
    examples: [
      ["toolport exec report.ts", "tools.<server>.<tool>(arguments) calls a tool, return prints a value"],
      ["echo 'return tools.weather.forecast({ city: \"Oslo\" })' | toolport exec -", "from stdin"],
      ["toolport exec pay.ts --suspend --approval unsafe", "calls can be approved later"],
    ],
    load: async () => (await import("./exec.js")).execCommand,
  },
  {
    name: "suspended",
    summary: "List the calls that wait for a person",
    group: "use",
    positionals: [],
    options: PRINCIPAL_OPTION,
    examples: [["toolport suspended", "what they wait for, and their tokens"]],
    load: async () => (await import("./resume.js")).suspendedCommand,
  },
  {
    name: "resume",
    summary: "Answer or approve a call that waits, and finish it",
    group: "use",
    positionals: [TOKEN],
    options: {
      answers: {
        type: "string",
        value: "<json>",
        summary: "The answer to each question by its key, or - to read them from stdin",
      },
      approve: { type: "boolean", summary: "Approve the call" },
      refuse: { type: "boolean", summary: "Do not approve the call, which ends it" },
      again: { type: "boolean", summary: "Send the call although it may have run already" },
      restart: { type: "boolean", summary: "Begin the call anew if the server no longer knows it" },
      approval: {
        type: "string",
        value: "<when>",
        choices: ["unsafe", "always"],
        summary:
          "For a program: which of its later calls wait for an approval (always, if it waited for one)",
      },
      ...SAVE_IMAGES,
      ...PRINCIPAL_OPTION,
      ...ANSWERED_BY_OPTION,
    },
    examples: [
      ["toolport resume -", "asks for the token, then for the answers"],
      [
        `toolport resume - --answers '{"seat":{"action":"accept","content":{"row":12}}}' < token`,
        "without a terminal",
      ],
      ["toolport resume - --approve < token", "approve the call"],
    ],
    load: async () => (await import("./resume.js")).resumeCommand,
  },
  {
    name: "discard",
    summary: "Give up a call that waits; nothing is sent",
    group: "use",
    positionals: [TOKEN],
    options: PRINCIPAL_OPTION,
    examples: [["toolport discard - < token", "its token works no longer"]],
    load: async () => (await import("./resume.js")).discardCommand,
  },
  {
    name: "read",
    summary: "Read a resource",
    group: "use",
    positionals: [SERVER, { name: "uri", summary: "URI of the resource", completes: "resource" }],
    options: { out: { type: "string", value: "<file>", summary: "Write to this file" }, ...TYPED_OPTIONS },
    takesTyped: "server",
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
      { ...ARGUMENTS, summary: "Any number of key=value or --key value", completes: "none" },
    ],
    options: TYPED_OPTIONS,
    takesTyped: "server",
    takesNamed: true,
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
      defer: {
        type: "string",
        value: "<when>",
        choices: ["auto", "always", "never"],
        summary: "Give the model a tool search instead of all tools; auto: above 10,000 tokens (never)",
      },
      search: { type: "boolean", summary: "Short for --defer always" },
      code: { type: "boolean", summary: "Let the model write programs that call the tools (code mode)" },
    },
    examples: [
      ['toolport run "What will the weather be in Oslo?"', "with OPENAI_API_KEY or ANTHROPIC_API_KEY"],
      ['toolport run "Tidy my notes" --model-url http://127.0.0.1:11434/v1', "with a local model"],
      ['toolport run "Close stale issues" --defer auto', "with more tools than a model should get at once"],
    ],
    load: async () => (await import("./run.js")).runCommand,
  },
];
