/** Local servers, engines, a registry and models in place of those that `docs/from-langchain4j.md` names. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  createTestServer,
  type TestServer,
  type TestServerDefinition,
  type TestTool,
} from "toolport/testing";
import { type OpenAiDouble, startOpenAiDouble } from "../support/openai-double.js";
import { type RegistryTestServer, startRegistryServer } from "../support/registry-server.js";
import { root } from "./markdown.js";

/** The final answer of the scripted model about commits. */
export const SUMMARY = [
  "The last three commits, all of 2025-02-05, bring actions up to date:\n",
  "1. 36951f9: upload-pages-artifact@v3",
  "2. 6fcd19f: checkout@v4, deploy-pages@v4 and upload-pages-artifact@v4",
  "3. 2e74049: setup-node@v4 and configure-pages@v4",
].join("\n");

const COMMITS = ["36951f9", "6fcd19f", "2e74049", "0000000"];
/** The start of a zip file: bytes that no model accepts. */
const ZIP = Buffer.from("PK\u0003\u0004").toString("base64");
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const needs = (name: string, type = "string") => ({
  type: "object",
  properties: { [name]: { type } },
  required: [name],
});

const issues: TestServerDefinition = {
  capabilities: { logging: {} },
  tools: {
    get_issue: {
      inputSchema: needs("number", "integer"),
      annotations: { readOnlyHint: true },
      handler: async ({ number }, { request }) => {
        await request.mcpReq.log("debug", `looking for ${number}`, "tracker");
        return `Issue ${number}: the kettle leaks`;
      },
    },
    get_issue_comments: { annotations: { readOnlyHint: true }, handler: () => "none" },
    list_issues: {
      title: "List issues",
      annotations: { title: "All the issues", readOnlyHint: true, destructiveHint: false },
      _meta: { "example.com/owner": { team: "kitchen" } },
      handler: () => "7",
    },
    create_issue: { handler: () => "created" },
    tool1: { inputSchema: needs("a"), annotations: { readOnlyHint: true }, handler: ({ a }) => `a=${a}` },
  },
};

const echo = (who: string): TestTool => ({
  inputSchema: needs("value", "integer"),
  handler: ({ value }) => `${who} ${value}`,
});

const library: TestServerDefinition = {
  tools: { count: { handler: ({ shelf }) => `3 books about ${shelf}` } },
  resources: {
    "file:///info": { name: "info", mimeType: "text/plain", text: "Open till six" },
    "file:///album": {
      name: "album",
      read: () => ({
        contents: [
          { uri: "file:///album/title", mimeType: "text/plain", text: "Summer" },
          { uri: "file:///album/cover", mimeType: "image/png", blob: PIXEL },
        ],
      }),
    },
  },
  resourceTemplates: { "file:///diary/{day}": { read: (uri) => `What happened on ${uri.split("/").pop()}` } },
  prompts: {
    review: {
      arguments: [{ name: "title", required: true }],
      get: ({ title }) => [
        { role: "user", content: { type: "text", text: `Review ${title}` } },
        { role: "assistant", content: { type: "text", text: "With pleasure" } },
        { role: "user", content: { type: "image", data: PIXEL, mimeType: "image/png" } },
      ],
    },
    drawn_answer: {
      get: () => [{ role: "assistant", content: { type: "image", data: PIXEL, mimeType: "image/png" } }],
    },
    archive: {
      get: () => [
        {
          role: "user",
          content: {
            type: "resource",
            resource: { uri: "file:///all.zip", mimeType: "application/zip", blob: ZIP },
          },
        },
      ],
    },
  },
};

const person = (name: string): TestServerDefinition => ({
  resources: {
    "file:///info": {
      name: "basicInfo",
      description: `Basic information about ${name}`,
      mimeType: "text/plain",
      text: `${name} likes tea`,
    },
  },
});

const DEFINITIONS = {
  issues,
  numbers: { tools: { echoInteger: echo("numbers"), add: { handler: () => "0" } } },
  words: { tools: { echoInteger: echo("words"), echoString: { handler: ({ value }) => String(value) } } },
  weather: {
    tools: {
      forecast: {
        description: "The weather of tomorrow",
        inputSchema: needs("city"),
        handler: ({ city }) => `Rain in ${city}`,
      },
    },
  },
  library,
  alice: person("Alice"),
  bob: person("Bob"),
} satisfies Record<string, TestServerDefinition>;

/** Servers that come as images. */
const IMAGES: Readonly<Record<string, TestServerDefinition>> = {
  "mcp/time": { tools: { get_current_time: { handler: ({ timezone }) => `12:00 in ${timezone}` } } },
  "mcp/github": {
    tools: {
      list_commits: {
        description: "The commits of a repository, the latest first",
        inputSchema: {
          type: "object",
          properties: { owner: { type: "string" }, repo: { type: "string" }, perPage: { type: "integer" } },
          required: ["owner", "repo"],
        },
        handler: ({ owner, repo, perPage }) =>
          `${owner}/${repo}: ${COMMITS.slice(0, Number(perPage)).join(" ")}`,
      },
    },
  },
};

/** One call of an engine's command line. */
export interface EngineCall {
  readonly engine: string;
  readonly argv: string[];
  /** Variables for the container, with their values from the environment of the engine. */
  readonly env: Record<string, string | null>;
  /** `DOCKER_HOST`. */
  readonly host?: string;
}

export interface LocalWorld extends AsyncDisposable {
  /** The `local` object of the stand-ins. */
  readonly local: Readonly<Record<string, unknown>>;
  /** A folder with `docker` and `podman`, for the front of `PATH`. */
  readonly path: string;
  readonly models: { readonly weather: OpenAiDouble; readonly github: OpenAiDouble };
  readonly registry: RegistryTestServer;
  /** Methods of the requests to the server `issues` over HTTP. */
  readonly asked: string[];
  /** Calls of the engines since the last look. */
  engineCalls(): EngineCall[];
}

export async function startLocalWorld(): Promise<LocalWorld> {
  const opened: TestServer[] = [];
  const serve = (definition: TestServerDefinition): TestServer => {
    const server = createTestServer(definition);
    opened.push(server);
    return server;
  };
  const asked: string[] = [];
  const intercept = async (request: Request): Promise<undefined> => {
    if (request.method === "POST") asked.push(((await request.clone().json()) as { method: string }).method);
  };
  const { issues: tracker, ...others } = DEFINITIONS;
  const trackers = serve(tracker);
  const urls = Object.entries(others).map(async ([name, definition]) => [
    name,
    (await serve(definition).http()).url,
  ]);
  const engines = mkdtempSync(join(tmpdir(), "toolport-engines-"));
  const images = Object.entries(IMAGES).map(async ([name, definition]) => {
    const { command, args } = await serve(definition).stdio();
    return [name, { command, args }];
  });
  writeFileSync(join(engines, "images.json"), JSON.stringify(Object.fromEntries(await Promise.all(images))));
  const program = join(root, "test/fixtures/bin/engine-of-images.mjs");
  for (const name of ["docker", "podman"]) symlinkSync(program, join(engines, name));

  const registry = await startRegistryServer();
  const models = {
    weather: await startOpenAiDouble([
      { call: "weather__forecast", args: { city: "London" } },
      "Yes, it will rain",
    ]),
    github: await startOpenAiDouble([
      { call: "github__list_commits", args: { owner: "langchain4j", repo: "langchain4j", perPage: 3 } },
      SUMMARY,
    ]),
  };
  const local = {
    everything: { command: process.execPath, args: [everythingProgram(), "stdio"] },
    issues: (await trackers.http({ intercept })).url,
    issuesWebSocket: (await trackers.webSocket()).url,
    issuesSse: (await trackers.sse()).url,
    ...Object.fromEntries(await Promise.all(urls)),
    registry: registry.url,
  };
  const log = join(engines, "asked.jsonl");
  writeFileSync(log, "");
  return {
    local,
    path: engines,
    models,
    registry,
    asked,
    engineCalls() {
      const lines = readFileSync(log, "utf8").split("\n").filter(Boolean);
      writeFileSync(log, "");
      return lines.map((line) => JSON.parse(line) as EngineCall);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([
        ...opened.map((server) => server.close()),
        ...Object.values(models).map((model) => model[Symbol.asyncDispose]()),
        registry.close(),
      ]);
      rmSync(engines, { recursive: true });
    },
  };
}

function everythingProgram(): string {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve("@modelcontextprotocol/server-everything/package.json");
  const { bin } = require(manifest) as { bin: Record<string, string> };
  return join(dirname(manifest), Object.values(bin)[0]!);
}
