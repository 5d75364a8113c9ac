/** What new users do first: add a server, look at its tools, answer inputs, search. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryStore } from "@toolport/stores";
import { createTestServer } from "@toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";
import { forgetInputs, readSavedInput, saveInput } from "../src/load-servers.js";
import { openStore } from "../src/open-store.js";

const lean = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const LONG_NAME = `read_${"very_".repeat(12)}long`;
const server = createTestServer({
  tools: {
    book: {
      inputSchema: {
        type: "object",
        properties: {
          guest: {
            type: "object",
            properties: { name: { type: "string", description: "Full name" }, vip: { type: "boolean" } },
            required: ["name"],
          },
          beds: { type: "array", items: { $ref: "#/$defs/bed" } },
        },
        required: ["guest"],
        $defs: { bed: { type: "object", properties: { size: { enum: ["single", "double"] } } } },
      },
      outputSchema: {
        type: "object",
        properties: {
          place: {
            type: "object",
            properties: { floor: { type: "integer", description: "0 is the ground" } },
          },
        },
        required: ["place"],
      },
      handler: () => "booked",
    },
    [LONG_NAME]: {
      inputSchema: { type: "object", properties: { [`${"a".repeat(40)}`]: {}, [`${"b".repeat(40)}`]: {} } },
      handler: () => "read",
    },
  },
});
let bench: CommandLinePlace;
let url: string;
const ownFile = () => join(bench.home, ".config", "toolport", "toolport.json");
const added = (name: string) => JSON.parse(readFileSync(ownFile(), "utf8")).mcpServers[name];

beforeAll(async () => {
  bench = createCommandLinePlace();
  url = String((await server.http()).entry.url);
});
afterAll(async () => {
  await server.close();
  bench[Symbol.dispose]();
});

describe("add", () => {
  test("stores relative paths as absolute ones and says so", async () => {
    const line = ["add", "files", "--no-check", "--", "npx", "-y", "server-filesystem", ".", "--root=../x"];
    const { code, stderr } = await bench.run(line);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`. is stored as ${bench.project}`)]);
    const root = `--root=${join(dirname(bench.project), "x")}`;
    expect(added("files")).toEqual({
      command: "npx",
      args: ["-y", "server-filesystem", bench.project, root],
    });
  });

  test("says what a relative path of a project means", async () => {
    const line = ["add", "files", "--project", "--no-check", "--", "npx", "-y", "server-filesystem", "."];
    expect((await bench.run(line)).stderr).toContain("Relative paths mean the folder of the file");
    const { mcpServers } = JSON.parse(readFileSync(join(bench.project, "toolport.json"), "utf8"));
    expect(mcpServers.files).toMatchObject({ args: ["-y", "server-filesystem", "."], cwd: "." });
  });

  test("a process of the user's file starts in the folder of the file", async () => {
    using place = createCommandLinePlace();
    const folder = join(place.home, ".config", "toolport");
    const script = "process.stderr.write(process.cwd()); process.exit(3)";
    mkdirSync(folder, { recursive: true });
    const servers = { here: { command: process.execPath, args: ["-e", script] } };
    writeFileSync(join(folder, "toolport.json"), JSON.stringify({ mcpServers: servers }));
    const { error } = await place.run(["tools", "here", "--json"]);
    expect(error()["stderrTail"]).toBe(folder);
  });

  test.each([
    [["add", "files", "npx", "-y", "foo"], "toolport add files -- npx -y foo"],
    [["add", "--project", "files", "npx", "--unknown", "foo"], "toolport add files -- npx --unknown foo"],
    [["add", "files", "uvx", "foo"], "toolport add files -- uvx foo"],
    [["add", "https://mcp.linear.app/mcp"], "toolport add linear https://mcp.linear.app/mcp"],
  ])("%j suggests a command that works", async (args, next) => {
    const { code, error } = await bench.run(
      [...args, "--json"].sort((a, b) => Number(b === "--json") - Number(a === "--json")),
    );
    expect([code, error().next]).toEqual([1, next]);
  });
});

describe("tools", () => {
  test("shows the fields of nested objects", async () => {
    const { stdout } = await bench.run(["tools", `${url}.book`]);
    expect(stdout).toMatch(/^guest +object +yes/m);
    expect(stdout).toMatch(/^guest\.name +string +yes +Full name$/m);
    expect(stdout).toMatch(/^guest\.vip +boolean$/m);
    expect(stdout).toMatch(/^beds\[\]\.size +"single" \| "double"$/m);
    expect(stdout).toContain(`toolport call ${url}.book guest:=…`);
  });

  test("shows the fields of the result", async () => {
    const { stdout } = await bench.run(["tools", `${url}.book`]);
    expect(stdout).toMatch(
      /^RETURNS +TYPE +REQUIRED +MEANING\nplace +object +yes\nplace\.floor +integer +0 is the ground$/m,
    );
  });

  test("never cuts the name of a tool", async () => {
    const { stdout } = await bench.run(["tools", url]);
    expect(stdout).toContain(`local.${LONG_NAME}(`);
  });
});

describe("call", () => {
  test("of a server without a tool says so, and starts no other server", async () => {
    using place = createCommandLinePlace();
    place.configure({ hotel: { url }, never: { command: "no-such-program" } });
    const { code, error } = await place.run(["call", "hotel", "--json", "--yes"]);
    expect([code, error().next]).toEqual([1, "toolport tools hotel"]);
    expect(error().message).toBe('"hotel" is a server. Name one of its tools: hotel.<tool>');
  });

  test("suggests the argument that was misspelt", async () => {
    const { code, stderr } = await bench.run(["call", `${url}.book`, "gest:={}"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("$.guest is required")]);
    expect(stderr).toMatch(/^The tool has no argument gest\. Did you mean guest\?$/m);
  });
});

test("help names the values of an option", async () => {
  const { stdout } = await bench.run(["tools", "--help"]);
  expect(stdout).toMatch(/--transport <kind> .*: http, sse, websocket, auto$/m);
  // Once only.
  expect((await bench.run(["--help"])).stdout).toMatch(/--output <form> .*\(only the data\)$/m);
});

test("auth of a server without logins does not suggest another account", async () => {
  using place = createCommandLinePlace();
  place.configure({ lean: { command: process.execPath, args: [lean] } });
  const { code, stderr } = await place.run(["auth", "lean", "--yes"]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("Next: toolport tools lean")]);
  expect(stderr).not.toContain("--reset");
});

test("doctor does not advise to edit a file that does not exist", async () => {
  const { code, json } = await bench.run(["doctor", "--config", "nope.json", "--json"]);
  const { checks } = json<{ checks: { check: string; next?: string }[] }>();
  const file = join(bench.project, "nope.json");
  expect([code, checks.find(({ check }) => check === "config")?.next]).toEqual([
    2,
    `Check that ${file} exists and can be read`,
  ]);
});

test("types --out creates the folder", async () => {
  const { code } = await bench.run(["types", "--out", "a/b/tools.ts", "--", process.execPath, lean]);
  expect([code, existsSync(join(bench.project, "a/b/tools.ts"))]).toEqual([0, true]);
});

test("a search that fails suggests a command that can work", async () => {
  const { code, error } = await bench.run(["search", "x", "--registry", "http://127.0.0.1:9", "--json"]);
  expect([code, error().next]).toEqual([
    4,
    "toolport search x --registry https://registry.modelcontextprotocol.io",
  ]);
});

test("logout forgets the answers for a server that has no login", async () => {
  using place = createCommandLinePlace();
  const file = join(place.project, ".vscode", "mcp.json");
  const input = { type: "promptString", id: "key", default: "typed" };
  mkdirSync(dirname(file));
  const servers = { lean: { command: process.execPath, args: [lean], env: { KEY: `\${input:key}` } } };
  writeFileSync(file, JSON.stringify({ inputs: [input], servers }));
  const opened = await openStore(join(place.home, ".state", "toolport", "state.db"), () => {});
  const context = { openStore: async () => opened };
  await saveInput(context, { file, id: "key" }, "secret");
  const { code, stderr } = await place.run(["logout", "lean", "--yes"]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("Deleted 1 saved answer for lean")]);
  expect(await readSavedInput(context, { file, id: "key" })).toBeUndefined();
  await opened.store.close();
});

test("answers to inputs are sealed and bound to file and id", async () => {
  const store = memoryStore();
  const context = { openStore: async () => ({ store, statePath: "x", compact: async () => {} }) };
  const place = { file: "/a/mcp.json", id: "key" };
  await saveInput(context, place, "secret");
  expect(await readSavedInput(context, place)).toBe("secret");
  expect(await readSavedInput(context, { ...place, file: "/b/mcp.json" })).toBeUndefined();
  for (const key of await store.list("inputs/")) expect((await store.get(key))?.sealed).toBe(true);
  await forgetInputs(context, { source: { file: place.file } as never, inputs: [{ id: "key" }] });
  expect(await readSavedInput(context, place)).toBeUndefined();
});
