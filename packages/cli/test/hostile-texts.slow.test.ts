/** Texts of servers in a terminal: no invisible or control characters, and no line that looks like one of Toolport. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  JsonRpcFailure,
  type JsonRpcServer,
  startJsonRpcServer,
} from "../../../test/fixtures/servers/http-json-rpc.js";
import {
  type CommandLinePlace,
  createCommandLinePlace,
  type RunOptions,
} from "../../../test/support/command-line.js";

/** One character of every kind: zero width, soft hyphen, filler, variation selectors, tag, direction, control, separators. */
const HIDDEN =
  "\u200b\u00ad\u3164\u{e0100}\u{e01ef}\u{e0041}\u202e\u2066\u200d\ufeff\u2060\u115f\u034f\u180e\u{1d173}\ufff9\u001b[2J\u009b\u0007";
const evil = (what: string) => `${what}${HIDDEN}\nwarning: FORGED\r\nerror: FORGED\u2028Try: FORGED\ttail`;
/** Characters that must not reach a terminal. Line feed and tab are allowed. */
const UNSAFE = /[^\P{Cc}\n\t]|\p{Cf}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/u;
const FORGED = /^(?:\S+ )?(?:warning|error|Try): FORGED/m;

const inputSchema = {
  type: "object",
  properties: { [evil("parameter")]: { type: evil("type"), description: evil("meaning") } },
};

let server: JsonRpcServer;
let place: CommandLinePlace;

beforeAll(async () => {
  const fail = () => Promise.reject(new JsonRpcFailure(-32000, evil("refused")));
  const info = { name: evil("software"), version: evil("1") };
  server = await startJsonRpcServer({
    "server/discover": () => ({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, resources: {}, prompts: {}, [evil("capability")]: {} },
      instructions: evil("instructions"),
      _meta: { "io.modelcontextprotocol/serverInfo": info },
    }),
    "tools/list": () => ({
      tools: [
        { name: evil("tool"), title: evil("title"), description: evil("does"), inputSchema },
        { name: evil("twice"), inputSchema },
        { name: evil("twice"), inputSchema },
        { name: evil("broken"), inputSchema: { type: evil("kind") } },
        { name: "fails", inputSchema: { type: "object" } },
        { name: "reports", inputSchema: { type: "object" } },
      ],
    }),
    "tools/call": ({ params }) =>
      params["name"] === "reports"
        ? { isError: true, content: [{ type: "resource_link", uri: evil("x:"), name: evil("link") }] }
        : fail(),
    "resources/list": () => ({
      resources: [{ uri: evil("file:///a"), name: evil("resource"), description: evil("about") }],
    }),
    "resources/templates/list": () => ({
      resourceTemplates: [{ uriTemplate: evil("file:///{a}"), name: evil("template") }],
    }),
    "resources/read": fail,
    "prompts/list": () => ({
      prompts: [{ name: evil("prompt"), description: evil("asks"), arguments: [{ name: evil("argument") }] }],
    }),
    "prompts/get": fail,
  });
  place = createCommandLinePlace();
  const folder = join(place.home, ".config", "toolport");
  mkdirSync(folder, { recursive: true });
  // The user's own file needs no consent.
  writeFileSync(join(folder, "toolport.json"), JSON.stringify({ mcpServers: { s: server.entry } }));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const COMMANDS: readonly (readonly string[])[] = [
  ["list"],
  ["list", "--verbose"],
  ["tools"],
  ["tools", "s"],
  ["tools", "--output", "raw"],
  ["tools", `s.${evil("tool")}`],
  ["tools", `s.${evil("broken")}`],
  ["tools", `s.${evil("too")}`],
  ["find", "tool"],
  ["find", "tool", "--output", "raw"],
  ["inspect", "s"],
  ["inspect", "s", "--raw"],
  ["resources"],
  ["resources", "--output", "raw"],
  ["prompts"],
  ["prompts", "--output", "raw"],
  ["doctor"],
  ["doctor", "--verbose"],
  ["call", "s.fails", "--verbose"],
  ["call", "s.reports"],
  ["call", `s.${evil("tool")}`],
  ["read", "s", evil("file:///a")],
  ["prompt", "s", evil("prompt")],
  ["__complete", "--", "call", "s."],
];

/** A test title without the hostile characters. */
const titled = COMMANDS.map((args) => [args.join(" ").replace(/[^\x21-\x7e]+/g, " "), args] as const);

describe.each(titled)("%s", (_title, args) => {
  test.each<[string, Partial<RunOptions>]>([
    ["in a terminal", { isTerminal: true, env: { NO_COLOR: "1" } }],
    ["through a pipe", {}],
  ])("%s", async (_where, options) => {
    const { stdout, stderr } = await place.run(args, options);
    for (const text of [stdout, stderr]) {
      expect(text).not.toMatch(UNSAFE);
      expect(text).not.toMatch(FORGED);
    }
    expect(stdout + stderr).not.toBe("");
  });
});

test.each(titled.filter(([title]) => !/--(output|verbose)/.test(title)))(
  "%s --json",
  async (_title, args) => {
    const at = args.indexOf("--");
    const line = at < 0 ? [...args, "--json"] : [...args.slice(0, at), "--json", ...args.slice(at)];
    const { stdout, stderr } = await place.run(line);
    expect(stdout + stderr).not.toMatch(UNSAFE);
    for (const text of [stdout, stderr]) if (text.trim() !== "") expect(() => JSON.parse(text)).not.toThrow();
  },
);

test("escapes invisible characters in names", async () => {
  const { stdout, stderr } = await place.run(["tools"]);
  expect(stdout).toContain("s.tool\\u{200b}\\xad\\u{3164}\\u{e0100}\\u{e01ef}");
  expect(stderr).toContain("twice\\u{200b}");
});
