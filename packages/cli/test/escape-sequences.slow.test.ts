/** Escape sequences in results, descriptions, names, errors and log messages never reach the terminal. */

import { createTestServer } from "@toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ALL_SEQUENCES as ALL,
  UNSAFE_ON_TERMINAL as UNSAFE,
} from "../../../test/fixtures/prompt-attacks/corpus.js";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";

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
  await place.run(["list", "--yes"]);
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

test("keeps the text unchanged when stdout is not a terminal", async () => {
  const { stdout } = await place.run(["call", "evil.say", "--output", "raw"]);
  expect(stdout).toBe(`said${ALL}\n`);
  const { json } = await place.run(["call", "evil.say", "--json"]);
  expect(json()["text"]).toBe(`said${ALL}`);
});
