/** Every sample of LangChain4j's document has a counterpart in `docs/from-langchain4j.md`, and every one of those runs. */
import { delimiter } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { countChildren, takeLeakSnapshot, waitFor, waitForNoLeaks } from "../support/leaks.js";
import { SAMPLES, STAND_INS } from "./langchain4j-samples.js";
import { type LocalWorld, SUMMARY, startLocalWorld } from "./langchain4j-servers.js";
import { type CodeBlock, type MarkdownFile, readMarkdown } from "./markdown.js";
import { runSnippet, type SnippetOutput } from "./run-snippet.js";

const page = bySection(readMarkdown("docs/from-langchain4j.md"));
const document = bySection(readMarkdown("test/fixtures/langchain4j-document/blocks.md"));

/** The code blocks of a file by their heading, including headings without code. */
function bySection({ lines, blocks }: MarkdownFile): Map<string, CodeBlock[]> {
  const isCode = (line: number) =>
    blocks.some((block) => line >= block.line - 1 && line <= block.line + block.text.split("\n").length);
  const sections = new Map<string, CodeBlock[]>();
  let current: CodeBlock[] = [];
  for (const [index, text] of lines.entries()) {
    const heading = isCode(index + 1) ? undefined : /^#+\s+(.*)$/.exec(text)?.[1];
    if (heading !== undefined && sections.has(heading)) throw new Error(`Two sections are called ${heading}`);
    if (heading !== undefined) {
      current = [];
      sections.set(heading, current);
    }
    const block = blocks.find(({ line }) => line === index + 2);
    if (block !== undefined) current.push(block);
  }
  return sections;
}

const codeOf = (section: string) => (page.get(section) ?? []).filter(({ language }) => language === "ts");

/** The code as it runs here. */
function localise(text: string): string {
  let localised = text;
  for (const { from, to } of STAND_INS) localised = localised.replaceAll(from, to);
  return localised;
}

describe("the page", () => {
  it("has a counterpart for every code block of the document", () => {
    const samples = SAMPLES.flatMap(({ heading, block }) =>
      block === undefined ? [] : [`${heading}, ${block}`],
    );
    const blocks = [...document].flatMap(([heading, found]) =>
      found.map((_, index) => `${heading}, ${index + 1}`),
    );
    expect(blocks).toHaveLength(25);
    expect(samples).toEqual(blocks);
  });

  it.each(SAMPLES)("$heading: $about", ({ section }) => {
    expect(codeOf(section).length).toBeGreaterThan(0);
  });

  it("has no code that is not run below", () => {
    const withCode = [...page.keys()].filter((section) => codeOf(section).length > 0);
    expect(Object.keys(CHECKS)).toEqual(withCode);
  });

  it("runs on this machine only: every stand-in is needed, and none is missing", () => {
    const text = [...page.keys()].flatMap(codeOf).map((block) => block.text);
    expect(STAND_INS.filter(({ from }) => !text.some((code) => code.includes(from)))).toEqual([]);
    const away = text
      .map(localise)
      .filter((code) => /localhost|\.example"|\/\/[^"\s]*\.example\b|"npx"/.test(code));
    expect(away).toEqual([]);
  });
});

const TOKEN = "token-of-a-test";
let world: LocalWorld;

beforeAll(async () => {
  world = await startLocalWorld();
  vi.stubEnv("PATH", `${world.path}${delimiter}${process.env["PATH"]}`);
  vi.stubEnv("OPENAI_API_KEY", "scripted");
  vi.stubEnv("OPENAI_BASE_URL", world.models.weather.baseUrl);
  vi.stubEnv("GITHUB_PERSONAL_ACCESS_TOKEN", TOKEN);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await world[Symbol.asyncDispose]();
});

/** Runs the next program of a section. */
type Run = () => Promise<SnippetOutput>;

async function checkIssues(run: Run): Promise<void> {
  const { printed, logged } = await run();
  expect(printed).toEqual(["Issue 7: the kettle leaks"]);
  expect(logged.filter((line) => line.startsWith("[issues] ->")).join()).toContain('"tools/call"');
  expect(logged.filter((line) => line.startsWith("[issues] <-")).join()).toContain("the kettle leaks");
}

const toolCalls = (model: { requests: unknown[] }) => model.requests.splice(0) as ChatRequest[];

interface ChatRequest {
  readonly tools: { readonly function: { readonly name: string } }[];
  readonly messages: { readonly role: string; readonly content: unknown }[];
}

async function checkBot(run: Run): Promise<void> {
  expect((await run()).printed).toEqual(["Yes, it will rain"]);
  const [first, second] = toolCalls(world.models.weather);
  expect(first?.tools[0]?.function.name).toBe("weather__forecast");
  expect(second?.messages.at(-1)).toMatchObject({ role: "tool", content: "Rain in London" });
}

/** A container was run and removed, its token passed by name. */
function expectContainer(engine: string, { isRemoved }: { isRemoved: boolean }): void {
  const [started, ...rest] = world.engineCalls();
  expect(started).toMatchObject({ engine, env: { GITHUB_PERSONAL_ACCESS_TOKEN: TOKEN } });
  expect(started?.argv[0]).toBe("run");
  expect(started?.argv.at(-1)).toBe("mcp/github");
  expect(started?.argv.join(" ")).not.toContain(TOKEN);
  expect(rest.map(({ argv }) => argv[0])).toEqual(isRemoved ? ["kill", "rm"] : []);
}

/** The expected effects of the programs, by section, in the order of the page. */
const CHECKS: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  stdio: async (run) => {
    const { printed, logged } = await run();
    expect(printed).toEqual(["Echo: hello"]);
    expect(logged.join("\n")).toContain("ready");
  },
  "Streamable HTTP": checkIssues,
  WebSocket: checkIssues,
  "HTTP+SSE (legacy)": checkIssues,
  Docker: async (run) => {
    const [install] = page.get("Docker") ?? [];
    expect(install).toMatchObject({ language: "sh", text: "npm install toolport" });
    const { printed, logged } = await run();
    expect(printed).toEqual(["12:00 in Europe/Oslo"]);
    expect(logged.join("\n")).toContain("ready");
    const [started, ...rest] = world.engineCalls();
    expect(started).toMatchObject({ engine: "docker", host: "unix:///var/run/docker.sock" });
    expect(started?.argv.at(-1)).toBe("mcp/time");
    expect(rest.map(({ argv }) => argv[0])).toEqual(["kill", "rm"]);
  },
  "A client with a key": async (run) => {
    expect((await run()).printed).toEqual([["ready", 5]]);
  },
  "A tool provider": async (run) => {
    const names = ["get_issue", "get_issue_comments", "list_issues", "create_issue", "tool1"];
    const { printed } = await run();
    expect(printed).toEqual(names.map((name) => [`MyMCPClient__${name}`, "MyMCPClient", name]));
  },
  "Several servers, some of which fail": async (run) => {
    expect((await run()).printed).toEqual([
      ["failed", "SPAWN_FAILED"],
      ["numbers__echoInteger", "numbers__add"],
      ["broken", "SPAWN_FAILED"],
    ]);
  },
  "By name": async (run) => {
    const { printed } = await run();
    expect(printed).toEqual([["get_issue", "get_issue_comments", "list_issues"], "TOOL_WITHHELD"]);
  },
  "By a predicate": async (run) => {
    const names = ["numeric-mcp__echoInteger", "numeric-mcp__add", "text-mcp__echoString"];
    expect((await run()).printed).toEqual([names]);
  },
  "Several filters": async (run) => {
    expect((await run()).printed).toEqual([["get_issue", "list_issues"]]);
  },
  "Adding and removing servers and filters": async (run) => {
    const numeric = ["numeric-mcp__echoInteger", "numeric-mcp__add"];
    const text = ["text-mcp__echoInteger", "text-mcp__echoString"];
    expect((await run()).printed).toEqual([[...numeric, ...text], [numeric[0], ...text], text, text]);
  },
  "Tools for an AI service": async (run) => {
    await checkBot(run);
    expect((await run()).printed).toEqual(["Take an umbrella. Rain in London"]);
  },
  "A map of specifications and executors": async (run) => {
    expect((await run()).printed).toEqual([["weather__forecast", ["city"], "Rain in London"]]);
  },
  "An AI service over such a map": checkBot,
  "Names of tools": async (run) => {
    const names = ["numbers_echoInteger", "numbers_add", "words_echoInteger", "words_echoString"];
    expect((await run()).printed).toEqual([names, "words 7"]);
  },
  "Specifications of tools": async (run) => {
    expect((await run()).printed).toEqual([
      ["myprefix_forecast", "THE WEATHER OF TOMORROW"],
      "Rain in London",
    ]);
  },
  Metadata: async (run) => {
    expect((await run()).printed).toEqual([
      ...["List issues", "All the issues", [true, false], { team: "kitchen" }],
    ]);
  },
  "Log messages": async (run) => {
    expect((await run()).printed).toEqual([["issues", "debug", "tracker", "looking for 7"]]);
  },
  Listeners: async (run) => {
    const message = (value: object) => JSON.stringify(value);
    const [tool, prompt, uri] = ["library__count", "review", "file:///info"];
    const called = message({ name: "count", arguments: { shelf: "tea" } });
    const rendered = message({ name: prompt, arguments: { title: "Tea" } });
    expect((await run()).printed).toEqual([
      ["before", "tool", "library", tool, called, "request 1"],
      ["after", "tool", tool, "ok", true, true],
      ["before", "prompt", "library", prompt, rendered, "request 2"],
      ["after", "prompt", prompt, "ok", true, true],
      ["before", "resource", "library", uri, message({ uri }), "request 3"],
      ["after", "resource", uri, "ok", true, true],
    ]);
  },
  "Read by a program": async (run) => {
    expect((await run()).printed).toEqual([
      ["library", "file:///info", "info", "text/plain"],
      ["library", "file:///album", "album", undefined],
      "file:///diary/{day}",
      ["file:///album/title", "Summer"],
      ["file:///album/cover", 70],
      "What happened on monday",
    ]);
  },
  "Read by a model": async (run) => {
    const [names, listed, read] = (await run()).printed as [string[], string, string];
    expect(names).toEqual(["list_resources", "read_resource"]);
    const [, shown] = page.get("Read by a model") ?? [];
    const [original] = document.get("Exposing resources automatically via synthetic tools") ?? [];
    for (const block of [shown, original]) {
      expect(block?.language).toBe("json");
      // The same fields with the same values, in the same order.
      expect(listed).toBe(JSON.stringify(JSON.parse(block?.text ?? "")));
    }
    expect(JSON.parse(read)).toEqual([
      { uri: "file:///info", mimeType: "text/plain", text: "Bob likes tea" },
    ]);
  },
  "With other texts": async (run) => {
    expect((await run()).printed).toEqual([
      ["list_resources", "-", "What is known about people"],
      ["get_resource", "-", "Tells about a person"],
      "Alice likes tea",
    ]);
  },
  Prompts: async (run) => {
    const { printed } = await run();
    expect(printed.slice(0, 3)).toEqual([
      ["review", ["title"]],
      ["drawn_answer", []],
      ["archive", []],
    ]);
    expect(printed.slice(3, 6)).toEqual([
      ["user", "text"],
      ["assistant", "text"],
      ["user", "image"],
    ]);
    expect(printed.slice(6)).toEqual([
      ["human", "Review Tea"],
      ["ai", "With pleasure"],
      ["human", [expect.objectContaining({ type: "image_url" })]],
      ["drawn_answer", "UNSUPPORTED_CONTENT"],
      ["archive", "UNSUPPORTED_CONTENT"],
    ]);
  },
  "The image": async (run) => {
    const { printed } = await run();
    expect(printed).toEqual([expect.stringContaining("mcp/github   latest")]);
    const [original] = document.get("Packaging and Executing the GitHub MCP Server in Docker") ?? [];
    const asked = world.engineCalls().map(({ engine, argv }) => [engine, ...argv].join(" "));
    expect(asked).toEqual([original?.text, "docker image ls mcp/github"]);
  },
  "The program": async (run) => {
    vi.stubEnv("OPENAI_BASE_URL", world.models.github.baseUrl);
    const { printed } = await run();
    vi.stubEnv("OPENAI_BASE_URL", world.models.weather.baseUrl);
    const [, shown] = page.get("The program") ?? [];
    expect(printed).toEqual([`RESPONSE: ${SUMMARY}`]);
    expect(shown).toMatchObject({ language: "text", text: printed[0] });
    const [first, second] = toolCalls(world.models.github);
    expect(first?.tools.map((tool) => tool.function.name)).toEqual(["github__list_commits", "read_artifact"]);
    expect(second?.messages.at(-1)?.content).toBe("langchain4j/langchain4j: 36951f9 6fcd19f 2e74049");
    expectContainer("docker", { isRemoved: true });
  },
  "With your own command line": async (run) => {
    expect((await run()).printed).toEqual(["langchain4j/langchain4j: 36951f9"]);
    expectContainer("docker", { isRemoved: false });
  },
  Podman: async (run) => {
    expect((await run()).printed).toEqual(["langchain4j/langchain4j: 36951f9"]);
    expectContainer("podman", { isRemoved: true });
  },
  "A chat request with tools": async (run) => {
    const { printed } = await run();
    expect(printed).toEqual([{ role: "tool", tool_call_id: "call-0", content: "Rain in London" }]);
    expect(toolCalls(world.models.weather)).toHaveLength(1);
  },
  "One tool, called directly": async (run) => {
    expect((await run()).printed).toEqual([["a=b", false]]);
  },
  "The cache of tools": async (run) => {
    const lists = () => world.asked.splice(0).filter((method) => method === "tools/list").length;
    lists();
    await run();
    expect(lists()).toBe(2); // the first one, and the one after refresh()
    await run();
    expect(lists()).toBe(2); // one for each tools()
  },
  "The registry": async (run) => {
    const { printed } = await run();
    expect(printed).toEqual([
      ["io.github.domdomegg/time-mcp-nuget", "1.0.8"],
      ["io.github.domdomegg/time-mcp-pypi", "1.0.6"],
      undefined,
      [{ command: "uvx", args: ["time-mcp-pypi==1.0.6"], env: {} }, 0, expect.any(Number)],
    ]);
    expect(world.registry.seen.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/v0\.1\/servers\?(?=.*search=time)(?=.*limit=10)/),
      expect.stringContaining("/versions/latest"),
    ]);
  },
};

describe("runs", () => {
  afterEach(() => waitFor(() => countChildren() === 0, { label: "the end of all processes" }));

  it.each(Object.keys(CHECKS))("%s", async (section) => {
    const left = codeOf(section);
    const before = takeLeakSnapshot();
    await CHECKS[section]!(async () => {
      const block = left.shift();
      if (block === undefined) throw new Error("There is no further program in this section");
      return runSnippet(localise(block.text), { local: world.local });
    });
    expect(left).toEqual([]);
    // The fetch of the runtime keeps its sockets for some seconds.
    const isOurs = !codeOf(section).some(({ text }) => /OpenAI|McpRegistryClient/.test(text));
    if (isOurs) await waitForNoLeaks(before);
  });
});
