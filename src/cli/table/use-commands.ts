/** Commands that use what servers offer. */
import type { CommandSpec, PositionalSpec } from "../command.js";
import { SERVER } from "./words.js";

const ARGUMENTS: PositionalSpec = {
  name: "arguments",
  summary: "key=value or key:=json, as many as there are",
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
        summary: "Save images, sounds and other bytes of the answer in this folder",
      },
      record: {
        type: "string",
        value: "<file>",
        summary: "Write the traffic to this file, to be played back with replayServer of toolport/testing",
      },
    },
    examples: [
      ["toolport call weather.forecast city=Oslo days:=3", "a text and a number"],
      [
        'echo \'{"city":"Oslo"}\' | toolport call weather.forecast --args -',
        "arguments from another program",
      ],
      ["toolport call charts.draw kind=pie --save-images .", "keep the picture"],
    ],
    load: () => import("../commands/call.js"),
  },
  {
    name: "read",
    summary: "Read a resource",
    group: "use",
    positionals: [SERVER, { name: "uri", summary: "Its address", completes: "resource" }],
    options: { out: { type: "string", value: "<file>", summary: "Write it to this file" } },
    examples: [
      ["toolport read docs docs://index", "print its text"],
      ["toolport read docs docs://logo.png --out logo.png", "save its bytes"],
    ],
    load: () => import("../commands/read.js"),
  },
  {
    name: "prompt",
    summary: "Fill in a prompt",
    group: "use",
    positionals: [
      SERVER,
      { name: "name", summary: "The prompt", completes: "prompt" },
      { ...ARGUMENTS, summary: "key=value, as many as there are" },
    ],
    options: {},
    examples: [["toolport prompt docs review file=src/main.ts", "print its messages"]],
    load: () => import("../commands/prompt.js"),
  },
];
