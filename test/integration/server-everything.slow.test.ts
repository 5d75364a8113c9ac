import { gunzipSync } from "node:zlib";
import {
  createToolport,
  type ElicitationRequest,
  type Progress,
  type ResourceUpdate,
  type SamplingRequest,
  type ServerLogEntry,
  type Toolport,
} from "toolport";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LeakSnapshot, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { processTree } from "../support/processes.js";
import { programOf, startProgramOnPort } from "../support/program-on-port.js";
import { waitFor } from "../support/wait-for.js";

const program = programOf("everything");

let before: LeakSnapshot;
beforeEach(() => {
  before = takeLeakSnapshot();
});
afterEach(() => waitForNoLeaks(before));

/** Requests and notifications that the port gets during the test. */
class Witness {
  readonly elicited: ElicitationRequest[] = [];
  readonly sampled: SamplingRequest[] = [];
  readonly logs: ServerLogEntry[] = [];
  readonly progress: Progress[] = [];
  readonly updates: ResourceUpdate[] = [];
  roots: { uri: string; name?: string }[] = [{ uri: "file:///srv/one", name: "one" }];
  rootsAsked = 0;

  open(entry: Parameters<typeof createToolport>[0] & object): Toolport {
    return createToolport({
      ...entry,
      logLevel: "debug",
      onElicitation: {
        form: (request) => {
          this.elicited.push(request);
          const isResearch = "interpretation" in request.requestedSchema.properties;
          const content: Record<string, string> = isResearch ? { interpretation: "snake" } : { name: "Ada" };
          return { action: "accept", content };
        },
        url: (request) => {
          this.elicited.push(request);
          return { action: "accept" };
        },
      },
      onSampling: (request) => {
        this.sampled.push(request);
        return { role: "assistant", model: "m", content: { type: "text", text: "sampled words" } };
      },
      roots: () => {
        this.rootsAsked += 1;
        return this.roots;
      },
      onLog: (log) => this.logs.push(log),
      onProgress: (_server, progress) => this.progress.push(progress),
    });
  }
}

type Walk = (toolport: Toolport, witness: Witness) => Promise<void>;

const call = (toolport: Toolport, name: string, args: Record<string, unknown> = {}) =>
  toolport.callTool(`it__${name}`, args);

/** The check of each tool. */
const TOOLS: Record<string, Walk> = {
  async echo(toolport) {
    expect((await call(toolport, "echo", { message: "hi" })).text).toBe("Echo: hi");
  },
  async "get-annotated-message"(toolport) {
    const { content } = await call(toolport, "get-annotated-message", {
      messageType: "error",
      includeImage: true,
    });
    expect(content).toMatchObject([{ annotations: { priority: 1 } }, { type: "image" }]);
  },
  async "get-env"(toolport) {
    expect((await call(toolport, "get-env")).text).toContain("PATH");
  },
  async "get-resource-links"(toolport) {
    const { content } = await call(toolport, "get-resource-links", { count: 2 });
    const links = content.filter((block) => block.type === "resource_link");
    expect(links).toHaveLength(2);
    for (const link of links) expect(await toolport.readResource("it", link.uri)).toHaveLength(1);
  },
  async "get-resource-reference"(toolport) {
    const args = { resourceType: "Blob", resourceId: 2 };
    const { content } = await call(toolport, "get-resource-reference", args);
    expect(content[1]).toMatchObject({ type: "resource", resource: { blob: expect.any(String) } });
  },
  async "get-roots-list"(toolport) {
    expect((await call(toolport, "get-roots-list")).text).toContain("file:///srv/one");
  },
  async "get-structured-content"(toolport) {
    const { structuredContent } = await call(toolport, "get-structured-content", { location: "Chicago" });
    expect(structuredContent).toMatchObject({ temperature: expect.any(Number) });
  },
  async "get-sum"(toolport) {
    expect((await call(toolport, "get-sum", { a: 2, b: 40 })).text).toContain("42");
  },
  async "get-tiny-image"(toolport) {
    const { content } = await call(toolport, "get-tiny-image");
    expect(content.some(({ type }) => type === "image")).toBe(true);
  },
  async "gzip-file-as-resource"(toolport) {
    const args = { name: "a.gz", data: "data:text/plain,hello", outputType: "resourceLink" };
    const { content } = await call(toolport, "gzip-file-as-resource", args);
    expect(content).toMatchObject([{ type: "resource_link", uri: "demo://resource/session/a.gz" }]);
    const [zipped] = await toolport.readResource("it", "demo://resource/session/a.gz");
    expect(gunzipSync(Buffer.from(zipped!.blob!, "base64")).toString()).toBe("hello");
    // It created a resource, and announced it.
    await waitFor(async () =>
      (await toolport.resources()).some(({ uri }) => uri === "demo://resource/session/a.gz"),
    );
  },
  async "simulate-research-query"(toolport) {
    const args = { topic: "python", ambiguous: true };
    const { text } = await call(toolport, "simulate-research-query", args);
    expect(text).toContain("Research Report: python (snake)");
  },
  async "toggle-simulated-logging"(toolport, { logs }) {
    logs.length = 0;
    await call(toolport, "toggle-simulated-logging");
    await waitFor(() => logs.some(({ server }) => server === "it"));
    await call(toolport, "toggle-simulated-logging");
  },
  async "toggle-subscriber-updates"(toolport, { updates }) {
    const [document] = await toolport.resources();
    const stop = await toolport.subscribe("it", document!.uri, (update) => updates.push(update));
    await call(toolport, "toggle-subscriber-updates");
    await waitFor(() => updates.length > 0);
    expect(updates[0]).toEqual({ server: "it", uri: document!.uri, missed: false });
    await call(toolport, "toggle-subscriber-updates");
    await stop();
  },
  async "trigger-elicitation-request"(toolport, { elicited }) {
    expect((await call(toolport, "trigger-elicitation-request")).text).toContain("Name: Ada");
    expect(elicited.at(-1)).toMatchObject({ mode: "form" });
  },
  async "trigger-elicitation-request-async"(toolport, { elicited }) {
    const asked = elicited.length;
    const { text } = await call(toolport, "trigger-elicitation-request-async");
    // The server got a task, polled it and fetched its result.
    expect(text).toContain("[COMPLETED]");
    expect(text).toContain("- Name: Ada");
    expect(text).toContain("Task created: ");
    expect(elicited.slice(asked)).toMatchObject([{ mode: "form" }]);
  },
  async "trigger-long-running-operation"(toolport, { progress }) {
    progress.length = 0;
    await call(toolport, "trigger-long-running-operation", { duration: 0.2, steps: 2 });
    expect(progress.map((step) => step.progress)).toEqual([1, 2]);
  },
  async "trigger-sampling-request"(toolport, { sampled }) {
    const { text } = await call(toolport, "trigger-sampling-request", { prompt: "say", maxTokens: 5 });
    expect(text).toContain("sampled words");
    expect(sampled.at(-1)).toMatchObject({ maxTokens: 5 });
  },
  async "trigger-sampling-request-async"(toolport, { sampled }) {
    const args = { prompt: "say", maxTokens: 6 };
    const { text } = await call(toolport, "trigger-sampling-request-async", args);
    expect(text).toContain("[COMPLETED]");
    expect(text).toContain("sampled words");
    // The field `task` is for Toolport, not for the model.
    expect(sampled.at(-1)).toMatchObject({ maxTokens: 6 });
    expect(sampled.at(-1)).not.toHaveProperty("task");
  },
  async "trigger-url-elicitation"(toolport, { elicited }) {
    const url = "https://example.com/open";
    expect((await call(toolport, "trigger-url-elicitation", { url })).isError).toBe(false);
    expect(elicited.at(-1)).toMatchObject({ mode: "url", url, host: "example.com" });
    // The other way: refused with -32042, the user is asked, the call is sent again.
    const asked = elicited.length;
    const { isError } = await call(toolport, "trigger-url-elicitation", { url, errorPath: true });
    expect(isError).toBe(false);
    expect(elicited.slice(asked)).toMatchObject([{ url: "https://modelcontextprotocol.io/" }, { url }]);
  },
};

const PROMPTS: Record<string, Walk> = {
  async "simple-prompt"(toolport) {
    const { messages } = await toolport.getPrompt("it", "simple-prompt");
    expect(messages).toMatchObject([{ role: "user", content: { type: "text" } }]);
  },
  async "args-prompt"(toolport) {
    const { messages } = await toolport.getPrompt("it", "args-prompt", { city: "Oslo" });
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining("Oslo") });
  },
  async "completable-prompt"(toolport) {
    const ref = { prompt: "completable-prompt" };
    expect(await toolport.complete("it", ref, { name: "department", value: "S" })).toMatchObject({
      values: ["Sales", "Support"],
    });
    const context = { department: "Sales" };
    expect(await toolport.complete("it", ref, { name: "name", value: "", context })).toMatchObject({
      values: ["David", "Eve", "Frank"],
    });
    const { messages } = await toolport.getPrompt("it", ref.prompt, { department: "Sales", name: "Eve" });
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining("Eve") });
  },
  async "resource-prompt"(toolport) {
    const ref = { prompt: "resource-prompt" };
    expect(await toolport.complete("it", ref, { name: "resourceType", value: "T" })).toMatchObject({
      values: ["Text"],
    });
    const args = { resourceType: "Text", resourceId: "1" };
    const { messages } = await toolport.getPrompt("it", ref.prompt, args);
    expect(messages[1]).toMatchObject({ content: { type: "resource" } });
  },
};

const TEMPLATES: Record<string, Walk> = {
  async "demo://resource/dynamic/text/{resourceId}"(toolport) {
    const template = "demo://resource/dynamic/text/{resourceId}";
    const [page] = await toolport.readResource("it", { template, args: { resourceId: "7" } });
    expect(page).toMatchObject({ uri: "demo://resource/dynamic/text/7", text: expect.any(String) });
    const argument = { name: "resourceId", value: "7" };
    expect(await toolport.complete("it", { template }, argument)).toMatchObject({ values: ["7"] });
  },
  async "demo://resource/dynamic/blob/{resourceId}"(toolport) {
    const template = "demo://resource/dynamic/blob/{resourceId}";
    const [page] = await toolport.readResource("it", { template, args: { resourceId: "7" } });
    expect(page).toMatchObject({ uri: "demo://resource/dynamic/blob/7", blob: expect.any(String) });
  },
};

/** The check of each capability. */
const CAPABILITIES = {
  tools: "every tool is called",
  prompts: "every prompt is got",
  resources: "every resource is read, one is subscribed to",
  completions: "arguments of prompts and templates are completed",
  logging: "toggle-simulated-logging",
  tasks: "simulate-research-query",
};

async function walk(toolport: Toolport, witness: Witness): Promise<void> {
  await toolport.connect();
  const tools = (await toolport.tools()).map(({ sourceName }) => sourceName).sort();
  expect(tools).toEqual(Object.keys(TOOLS).sort());
  for (const [name, use] of Object.entries(TOOLS))
    await use(toolport, witness).catch((error: unknown) => {
      throw new Error(`Tool ${name}`, { cause: error });
    });

  const prompts = (await toolport.prompts()).map(({ name }) => name).sort();
  expect(prompts).toEqual(Object.keys(PROMPTS).sort());
  for (const use of Object.values(PROMPTS)) await use(toolport, witness);

  const templates = (await toolport.resourceTemplates()).map(({ uriTemplate }) => uriTemplate).sort();
  expect(templates).toEqual(Object.keys(TEMPLATES).sort());
  for (const use of Object.values(TEMPLATES)) await use(toolport, witness);

  const resources = await toolport.resources();
  expect(resources.length).toBeGreaterThan(5);
  for (const { uri } of resources) expect((await toolport.readResource("it", uri)).length).toBeGreaterThan(0);

  const { capabilities } = toolport.snapshot().servers["it"]!;
  expect(Object.keys(capabilities!).sort()).toEqual(Object.keys(CAPABILITIES).sort());
  expect(await toolport.instructions()).toContain("## it\n\n");

  // The server requests the roots again after the notification.
  const asked = witness.rootsAsked;
  witness.roots = [{ uri: "file:///srv/two" }];
  await toolport.rootsChanged();
  await waitFor(() => witness.rootsAsked > asked);
  expect((await call(toolport, "get-roots-list")).text).toContain("file:///srv/two");
}

describe("the everything server, in full", () => {
  test("over stdio", async () => {
    const witness = new Witness();
    await using toolport = witness.open({
      mcpServers: { it: { command: process.execPath, args: [program, "stdio"] } },
    });
    await walk(toolport, witness);
  });

  test("over Streamable HTTP", async () => {
    await using server = await startProgramOnPort([program, "streamableHttp"]);
    const witness = new Witness();
    await using toolport = witness.open({
      mcpServers: { it: { url: `http://127.0.0.1:${server.port}/mcp` } },
    });
    await walk(toolport, witness);
  });
});

test("killed during use: a read and a subscription survive", async () => {
  await using toolport = createToolport({
    mcpServers: { it: { command: process.execPath, args: [program, "stdio"] } },
  });
  const [document] = await toolport.resources();
  const { uri } = document!;
  const updates: ResourceUpdate[] = [];
  const stop = await toolport.subscribe("it", uri, (update) => updates.push(update));
  const isServer = ({ command }: { command: string }) => command.includes("server-everything");
  const victims = processTree(process.pid).filter(isServer);
  expect(victims).not.toHaveLength(0);
  for (const { pid } of victims) process.kill(pid, "SIGKILL");
  expect((await toolport.readResource("it", uri))[0]?.text).toEqual(expect.any(String));
  await waitFor(() => updates.some(({ missed }) => missed));
  await call(toolport, "toggle-subscriber-updates");
  await waitFor(() => updates.some(({ missed }) => !missed));
  expect(updates.filter(({ missed }) => missed)).toHaveLength(1);
  await stop();
});
