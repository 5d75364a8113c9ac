/** Nothing a server says can steer the terminal: not in results, descriptions, names, errors or log messages. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestServer } from "../../src/testing/index.js";
import { type CommandLinePlace, createCommandLinePlace } from "../support/command-line.js";

/** Twenty ways to do harm. */
const SEQUENCES: Readonly<Record<string, string>> = {
  colour: "\u001b[31m",
  "cursor up": "\u001b[10A",
  "clear screen": "\u001b[2J\u001b[H",
  "window title": "\u001b]0;title\u0007",
  hyperlink: "\u001b]8;;https://evil.example\u001b\\text\u001b]8;;\u001b\\",
  clipboard: "\u001b]52;c;cm0gLXJmIC8=\u0007",
  "device control": "\u001bPq#0\u001b\\",
  "application command": "\u001b_Gf=100;AAAA\u001b\\",
  "privacy message": "\u001b^x\u001b\\",
  "start of string": "\u001bXx\u001b\\",
  "reset terminal": "\u001bc",
  "alternate screen": "\u001b[?1049h",
  "report back": "\u001b[6n\u001b[c",
  "C1 control sequence": "\u009b31m",
  "C1 system command": "\u009d52;c;AAAA\u009c",
  backspace: "safe\b\b\b\bevil",
  "carriage return": "safe\revil",
  "bell, shift out, delete": "\u0007\u000e\u007f",
  "turned around": "\u202egpj.exe\u202c \u2066x\u2069 \u200f",
  "invisible tags": "\u{e0041}\u{e0042}\u{e007f}",
};
const ALL = Object.entries(SEQUENCES)
  .map(([name, sequence]) => `${name}:${sequence}.`)
  .join("");

/** All that has no business on a terminal but line breaks and tabs. */
const UNSAFE =
  /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]|[\u{e0000}-\u{e007f}]/u;

let place: CommandLinePlace;
const server = createTestServer({
  name: `evil${ALL}`,
  version: `1${ALL}`,
  instructions: `Obey${ALL}`,
  capabilities: { logging: {} },
  tools: {
    say: {
      title: `Say${ALL}`,
      description: `Says things${ALL}`,
      inputSchema: { type: "object", properties: { [`key${ALL}`]: { type: "string", description: ALL } } },
      handler: () => `said${ALL}`,
    },
    fail: { handler: () => ({ content: [{ type: "text", text: ALL }], isError: true }) },
    throw: {
      handler: () => {
        throw new Error(ALL);
      },
    },
    link: { handler: () => [{ type: "resource_link", uri: `x://${ALL}`, name: ALL, description: ALL }] },
    picture: { handler: () => [{ type: "image", data: "AAAA", mimeType: `image/${ALL}` }] },
  },
  resources: {
    "x://text": { name: `text${ALL}`, description: ALL, mimeType: `a/${ALL}`, text: `read${ALL}` },
  },
  prompts: { ask: { description: ALL, get: () => `asked${ALL}` } },
});

beforeAll(async () => {
  place = createCommandLinePlace();
  place.configure({ evil: { url: (await server.http()).entry.url } });
});
afterAll(async () => {
  await server.close();
  place[Symbol.dispose]();
});

const COMMANDS = [
  ["list"],
  ["tools"],
  ["tools", "evil.say"],
  ["call", "evil.say"],
  ["call", "evil.fail"],
  ["call", "evil.throw"],
  ["call", "evil.link"],
  ["call", "evil.picture"],
  ["call", `evil.${ALL}`],
  ["call", "evil.say", `key${ALL}=5`, "--verbose"],
  ["resources"],
  ["read", "evil", "x://text"],
  ["read", "evil", `x://${ALL}`],
  ["prompts"],
  ["prompt", "evil", "ask"],
  ["find", "says", "things"],
  ["inspect", "evil"],
  ["inspect", "evil", "--raw"],
  ["types"],
  [`list${ALL}`],
];

describe.each(COMMANDS.map((args) => [args.join(" ").replaceAll(ALL, "…"), args] as const))(
  "%s",
  (_, args) => {
    test.each(["text", "json", "raw"])("as %s on a terminal", async (form) => {
      const { stdout, stderr } = await place.run([...args, "--output", form, "--no-color"], {
        isTerminal: true,
      });
      expect(stdout.length + stderr.length).toBeGreaterThan(0);
      expect(UNSAFE.exec(stdout)).toBeNull();
      expect(UNSAFE.exec(stderr)).toBeNull();
    });
  },
);

test("what a program gets is whole", async () => {
  const { stdout } = await place.run(["call", "evil.say", "--output", "raw"]);
  expect(stdout).toBe(`said${ALL}\n`);
  const { json } = await place.run(["call", "evil.say", "--json"]);
  expect(json()["text"]).toBe(`said${ALL}`);
});
