/** What tools cost in tokens: `list`, `tools --cost`, the warnings of `doctor` and `run`, and `run --defer`. */

import { createTestServer } from "@toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";
import { startModelDouble } from "../../adapters/test/model-double.js";

interface Check {
  readonly check: string;
  readonly status: string;
  readonly message: string;
  readonly next?: string;
}

const LONG = "word ".repeat(500);
const small = createTestServer({
  tools: { add: { description: "Adds two numbers", handler: () => "3" } },
});
const large = createTestServer({
  tools: Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`tool_${index}`, { description: LONG, handler: () => "" }]),
  ),
});
const spare = createTestServer({ tools: { add: { handler: () => "4" } } });

/** Requests to the spare server. */
let requests = 0;
const intercept = async () => {
  requests += 1;
  return undefined;
};

let bench: CommandLinePlace;
let urls: { small: string; large: string; spare: string };

beforeAll(async () => {
  bench = createCommandLinePlace();
  urls = {
    small: String((await small.http()).entry.url),
    large: String((await large.http()).entry.url),
    spare: String((await spare.http({ intercept })).entry.url),
  };
  await configure({});
});
afterAll(async () => {
  await Promise.all([small.close(), large.close(), spare.close()]);
  bench[Symbol.dispose]();
});

/** Writes the file and agrees to its entries. */
async function configure(fields: object): Promise<void> {
  bench.configure({
    small: { url: urls.small, fallback: "spare" },
    large: { url: urls.large, ...fields },
    spare: { url: urls.spare },
  });
  await bench.run(["list", "--yes"]);
}

describe("with a large server", () => {
  test("list shows an estimate for every server", async () => {
    const { stdout } = await bench.run(["list"]);
    expect(stdout).toMatch(/\nlarge +ok +20 +~11,8\d\d /);
    const { servers, tokens, tokensShown } = (await bench.run(["list", "--json"])).json<{
      servers: { tokens: number }[];
      tokens: number;
      tokensShown: number;
    }>();
    expect(tokens).toBe(servers.reduce((sum, server) => sum + server.tokens, 0));
    expect(tokensShown).toBe(tokens);
  });

  test("list of one server does not contact its fallback", async () => {
    const before = requests;
    const { stdout } = await bench.run(["list", "small"]);
    expect(stdout).toMatch(/\nsmall +ok +1 +~\d+ /);
    expect(requests).toBe(before);
  });

  test("tools --cost lists the largest tools first, with the total", async () => {
    const { stdout, code } = await bench.run(["tools", "--cost"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^TOOL +TOKENS +AT START +WHAT IT DOES\nlarge\.tool_\d+ +~59\d +shown +word word/);
    expect(stdout).toMatch(/\n\n22 tools, ~11,8\d\d tokens \(estimated\)\n$/);
    const raw = await bench.run(["tools", "small", "--cost", "--output", "raw"]);
    expect(raw.stdout).toBe("small.add\n");
  });

  test("tools --cost prints the report of cost() as JSON", async () => {
    const document = (await bench.run(["tools", "--cost", "--json"])).json();
    expect(document).toMatchObject({
      estimated: true,
      tokens: document["shown"],
      errors: [],
      servers: { large: { tools: 20 }, small: { tools: 1 } },
    });
    const one = (await bench.run(["tools", "small.add", "--cost", "--json"])).json();
    expect(one).toEqual({
      tools: [
        {
          name: "small__add",
          server: "small",
          deferred: false,
          tokens: expect.any(Number),
          bytes: expect.any(Number),
        },
      ],
      estimated: true,
      errors: [],
    });
  });

  test("doctor warns, and names the largest server and the options", async () => {
    const { json, code } = await bench.run(["doctor", "--json"]);
    expect(code).toBe(0);
    const found = json<{ checks: Check[] }>().checks.filter(({ check }) => check === "context");
    expect(found).toEqual([
      {
        check: "context",
        status: "warn",
        message: expect.stringMatching(
          /22 tools take ~11,8\d\d tokens.*The largest servers: large ~11,8\d\d$/,
        ),
        next: expect.stringMatching(/deferTools: \{ mode: "auto" \}.*"defer": true in the entry of large/),
      },
    ]);
    const small = await bench.run(["doctor", "small", "--json"]);
    expect(small.json<{ checks: Check[] }>().checks).toContainEqual({
      check: "context",
      status: "ok",
      message: expect.stringMatching(/^The definitions of 1 tool take ~\d+ tokens/),
    });
  });

  test.each([
    { args: [], isWarned: true, offered: ["small__add", "large__tool_0"], hidden: "search_tools" },
    { args: ["--defer", "auto"], isWarned: false, offered: ["search_tools"], hidden: "large__tool_0" },
    { args: ["--search"], isWarned: false, offered: ["search_tools"], hidden: "large__tool_0" },
    { args: ["--defer", "auto", "--server", "small"], isWarned: false, offered: ["small__add"], hidden: "x" },
  ])("run with $args", async ({ args, isWarned, offered, hidden }) => {
    await using model = await startModelDouble(["Done"]);
    const line = ["run", "Add", "--model-url", `${model.url}/v1`, "--model", "double", ...args];
    const { code, stderr } = await bench.run(line);
    expect(code).toBe(0);
    expect(stderr.includes("~11,8")).toBe(isWarned);
    expect(stderr.includes("--defer auto")).toBe(isWarned);
    const { tools } = model.requests[0] as unknown as { tools: { function: { name: string } }[] };
    const names = tools.map(({ function: { name } }) => name);
    expect(names).toEqual(expect.arrayContaining(offered));
    expect(names).not.toContain(hidden);
  });

  test("run rejects options that contradict each other, and unknown ones", async () => {
    for (const args of [
      ["--search", "--defer", "never"],
      ["--defer", "sometimes"],
    ]) {
      const { code, error } = await bench.run([
        "run",
        "x",
        "--model-url",
        "http://127.0.0.1:9",
        ...args,
        "--json",
      ]);
      expect([code, error().code]).toEqual([1, "USAGE"]);
    }
  });
});

describe("with a deferred server", () => {
  beforeAll(() => configure({ defer: true }));

  test("list and tools --cost mark what a model does not get at the start", async () => {
    const { stdout } = await bench.run(["list"]);
    expect(stdout).toMatch(/\nlarge +ok +20 +deferred ~11,8\d\d /);
    const { servers } = (await bench.run(["list", "--json"])).json<{
      servers: { name: string; tokens: number; tokensShown: number }[];
    }>();
    expect(servers.find(({ name }) => name === "large")).toMatchObject({ tokensShown: 0 });
    const costs = await bench.run(["tools", "--cost"]);
    expect(costs.stdout).toMatch(/\nlarge\.tool_\d+ +~59\d +deferred /);
    expect(costs.stdout).toMatch(/\ntoolport\.search_tools +~\d+ +shown/);
    expect(costs.stdout).toMatch(/\. A model gets ~\d{3} at the start\n$/);
  });

  test("doctor does not warn", async () => {
    const { json } = await bench.run(["doctor", "--json"]);
    const found = json<{ checks: Check[] }>().checks.filter(({ check }) => check === "context");
    expect(found).toEqual([
      {
        check: "context",
        status: "ok",
        message: expect.stringMatching(
          /^The definitions of 4 tools take ~\d{3} tokens.*, ~11,8\d\d more are deferred$/,
        ),
      },
    ]);
  });
});
