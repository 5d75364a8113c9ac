/** A tool behaves as a `DynamicStructuredTool` of LangChain with the same function. */
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { CallbackManager } from "@langchain/core/callbacks/manager";
import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { registerConfigureHook, setContextVariable } from "@langchain/core/context";
import { ensureConfig, type RunnableConfig, RunnableLambda } from "@langchain/core/runnables";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { type CallInterceptor, createToolport } from "toolport";
import { type ToLangChainToolsOptions, toLangChainTools } from "toolport/langchain";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, it, vi } from "vitest";

const createServer = () =>
  createTestServer({
    tools: {
      echo: {
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        handler: ({ text }) => String(text),
      },
      mixed: {
        handler: () => ({
          content: [
            { type: "text", text: "a" },
            { type: "image", data: "AAAA", mimeType: "image/png" },
          ],
          structuredContent: { a: 1 },
          _meta: { "example.com/b": 2 },
        }),
      },
      fail: { handler: () => ({ isError: true, content: [{ type: "text", text: "no" }] }) },
      wait: {
        handler: (_args, { signal }) =>
          new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("over"))),
      },
    },
  });

type Tool = DynamicStructuredTool;
type Tools = Record<"echo" | "mixed" | "fail" | "wait", Tool>;
type Run = (tools: Tools, watcher: Watcher) => unknown;
type Table = Record<string, Run | [ToLangChainToolsOptions, Run]>;

/** Records the arguments of callbacks, except for those that differ in every run. */
class Watcher extends BaseCallbackHandler {
  readonly name = "watcher";
  readonly seen: unknown[] = [];

  override handleToolStart(...given: Parameters<NonNullable<BaseCallbackHandler["handleToolStart"]>>): void {
    const [tool, input, , parent, tags, metadata, name, id] = given;
    this.seen.push(["start", tool.id, input, parent !== undefined, tags, metadata, name, id]);
  }
  override handleToolEnd(output: unknown, _run: string, parent?: string, tags?: string[]): void {
    this.seen.push(["end", output, parent !== undefined, tags]);
  }
  override handleToolError({ name, message }: Error, _run: string, parent?: string, tags?: string[]): void {
    this.seen.push(["error", name, message, parent !== undefined, tags]);
  }
}

const ARGS = { text: "hi" };
const call = (args: unknown = ARGS, id: unknown = "c1") =>
  ({ type: "tool_call", id, name: "echo", args }) as never;
const EVERYTHING: RunnableConfig = {
  tags: ["t"],
  metadata: { m: 1 },
  runName: "own",
  runId: "0190b5a4-7c9e-7000-8000-000000000000",
  configurable: { thread_id: "x", model: "y" },
  recursionLimit: 7,
};
const SHORT_MS = 60;
/** Early versions of `@langchain/core` 1 do not write the timeout into the metadata. */
const within = (timeout: number): RunnableConfig => ({ timeout, metadata: { timeoutMs: timeout } });

const inside = (config: RunnableConfig, use: () => unknown) =>
  RunnableLambda.from(async () => use()).invoke({}, config);

function aborting(start: (signal: AbortSignal) => unknown, afterMs?: number): unknown {
  const controller = new AbortController();
  const abort = () => controller.abort(new Error("enough"));
  const started = start(controller.signal);
  if (afterMs === undefined) abort();
  else setTimeout(abort, afterMs);
  return started;
}

async function eventsOf(tool: Tool): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const { event, name, data } of tool.streamEvents(call(), { version: "v2" }))
    events.push([event, name, data]);
  return events;
}

async function chunksOf(tool: Tool): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of await tool.stream(call())) chunks.push(chunk);
  return chunks;
}

const RUNS: Table = {
  "a tool call": ({ echo }) => echo.invoke(call()),
  "a tool call without an id": ({ echo }) => echo.invoke(call(ARGS, null)),
  "a tool call with an empty id": ({ echo }) => echo.invoke(call(ARGS, "")),
  "plain arguments": ({ echo }) => echo.invoke(ARGS),
  "arguments that the schema forbids": ({ echo }) => echo.invoke(call({ text: 1 })),
  "several blocks, data and _meta": ({ mixed }) => mixed.invoke(call({})),
  "several blocks without a tool call": ({ mixed }) => mixed.invoke({}),
  "standard blocks": [{ useStandardContentBlocks: true }, ({ mixed }) => mixed.invoke(call({}))],
  "everything as an artifact": [{ outputHandling: "artifact" }, ({ mixed }) => mixed.invoke(call({}))],
  "a tool that fails": ({ fail }) => fail.invoke(call({})),
  "a failure as a message": [{ toolErrors: "message" }, ({ fail }) => fail.invoke(call({}))],
  "an empty configuration": ({ echo }) => echo.invoke(call(), {}),
  "tags, metadata, a name and more": ({ echo }) => echo.invoke(call(), EVERYTHING),
  "a configuration by default": ({ echo }) => {
    echo.defaultConfig = { tags: ["d"], metadata: { d: 1 } };
    return echo.invoke(call(), { tags: ["t"] });
  },
  "a signal that is never used": ({ echo }) => echo.invoke(call(), { signal: new AbortController().signal }),
  "a signal used before": ({ echo }) => echo.invoke(call(), { signal: AbortSignal.abort(new Error("no")) }),
  "an abort at once": ({ echo }) => aborting((signal) => echo.invoke(call(), { signal })),
  "an abort while it works": ({ wait }) => aborting((signal) => wait.invoke(call({}), { signal }), SHORT_MS),
  "a timeout that is not reached": ({ echo }) => echo.invoke(call(), within(60_000)),
  "a timeout that is reached": ({ wait }) => wait.invoke(call({}), within(SHORT_MS)),
  "a timeout that is none": ({ echo }) => echo.invoke(call(), { timeout: -1 }),
  "a parent run": ({ echo }) => inside(EVERYTHING, () => echo.invoke(call())),
  "a timeout of the parent run": async ({ wait }) => {
    let running: unknown;
    // The parent run does not wait for the tool.
    await outcomeOf(inside({ timeout: SHORT_MS }, () => (running = wait.invoke(call({})))));
    return running;
  },
  "the older method": ({ echo }) => echo.call(ARGS, { ...EVERYTHING }),
  "a batch": ({ echo }) => echo.batch([ARGS, call()]),
  "a stream": ({ echo }) => chunksOf(echo),
  "a chain": ({ echo }) => echo.pipe(RunnableLambda.from((output: unknown) => [output])).invoke(call()),
  "no arguments at all": ({ echo }) => echo.invoke(undefined as never),
  "a text as arguments": ({ echo }) => echo.invoke(call("text")),
  "a list as arguments": ({ echo }) => echo.invoke(call([1])),
  "a tool call in a tool call": ({ echo }) => echo.invoke(call(call())),
  "the older method without a configuration": ({ echo }) => echo.call(ARGS),
  "the older method with callbacks": ({ echo }, watcher) => echo.call(ARGS, [watcher] as never),
  callbacks: ({ echo }, watcher) => echo.invoke(call(), { ...EVERYTHING, callbacks: [watcher] }),
  "callbacks of a failure": ({ fail }, watcher) => fail.invoke(call({}), { callbacks: [watcher] }),
  "callbacks of plain arguments": ({ echo }, watcher) => echo.invoke(ARGS, { callbacks: [watcher] }),
  "a manager of callbacks": ({ echo }, watcher) => {
    const callbacks = new CallbackManager();
    callbacks.addHandler(watcher);
    return echo.invoke(call(), { callbacks });
  },
  "callbacks of the parent run": ({ echo }, watcher) =>
    inside({ ...EVERYTHING, callbacks: [watcher] }, () => echo.invoke(call())),
  "streamed events": ({ echo }) => eventsOf(echo),
  "callbacks of the tool": ({ echo }, watcher) => {
    echo.callbacks = [watcher];
    return echo.invoke(call());
  },
  "a handler from the context": ({ echo }, watcher) =>
    inside({}, () => {
      registerConfigureHook({ contextVar: "watcher" });
      setContextVariable("watcher", watcher);
      return echo.invoke(call());
    }),
  "a talkative tool": ({ echo }, watcher) => {
    echo.verbose = true;
    return logged(watcher, () => echo.invoke(call()));
  },
  "a talkative environment": ({ echo }, watcher) => {
    vi.stubEnv("LANGCHAIN_VERBOSE", "true");
    return logged(watcher, () => echo.invoke(call()));
  },
  "another function in the tool": ({ echo }) => {
    echo.func = async () => ["own", []];
    return echo.invoke(call());
  },
  "another kind of output": ({ echo }) => {
    echo.responseFormat = "content";
    return echo.invoke(call());
  },
  "a hook before the call": [
    { beforeToolCall: () => ({ args: { text: "changed" } }) },
    ({ echo }) => echo.invoke(call()),
  ],
  "a command in place of the output": [
    { afterToolCall: () => ({ result: new Command({ update: { a: 1 } }) }) },
    ({ echo }) => echo.invoke(call()),
  ],
  "an odd content in place of the output": [
    { afterToolCall: () => ({ result: [{ odd: 1 }, []] as never }) },
    ({ echo }) => echo.invoke(call()),
  ],
};

/** LangChain's console output, without the durations of runs. */
async function logged(watcher: Watcher, run: () => unknown): Promise<unknown> {
  const log = vi.spyOn(console, "log").mockImplementation((line: unknown) => {
    watcher.seen.push(String(line).replace(/\d+ms/, "ms"));
  });
  const outcome = await run();
  log.mockRestore();
  return outcome;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const outcomeOf = (running: unknown): Promise<unknown> =>
  Promise.resolve(running).then(
    (value) => ({ value }),
    ({ name, message, cause }) => ({ name, code: cause?.code, message }),
  );

/** Everything visible of a run. */
async function observe(given: Table[string], receiver: (tool: Tool) => Tool) {
  const [options, run] = Array.isArray(given) ? given : [{}, given];
  const contexts: unknown[] = [];
  const look: CallInterceptor = (next) => (asked) => {
    const { signal, callbacks, ...context } = asked.options.context as RunnableConfig;
    const { tags, metadata } = ensureConfig();
    contexts.push({ ...context, types: [typeof signal, typeof callbacks], inherited: [tags, metadata] });
    return next(asked);
  };
  await using server = createServer();
  const ports = { mcpServers: { s: server.memory() }, prefix: false, interceptors: [look] };
  await using toolport = createToolport(ports);
  const list = await toLangChainTools(toolport, options);
  const tools = Object.fromEntries(list.map((tool) => [tool.name, receiver(tool)])) as Tools;
  const watcher = new Watcher();
  const outcome = await outcomeOf(run(tools, watcher));
  vi.restoreAllMocks();
  return { outcome, contexts, reported: watcher.seen, sent: server.calls.length };
}

const asItIs = (tool: Tool) => tool;
/** LangChain's own class, with a schema that accepts everything. */
const plain = ({ name, description, responseFormat, metadata, func }: Tool) =>
  new DynamicStructuredTool({
    name,
    description,
    responseFormat,
    func,
    ...(metadata !== undefined && { metadata }),
    schema: {},
  });

describe("a tool and LangChain's own tool with the same function", () => {
  it.each(Object.entries(RUNS))("do the same for %s", async (_what, given) => {
    const [ours, theirs] = [await observe(given, asItIs), await observe(given, plain)];
    expect(ours).toEqual(theirs);
    expect(ours.outcome).toStrictEqual(theirs.outcome);
  });

  it("report to LangSmith when the environment asks for traces", async () => {
    const paths: string[] = [];
    const collector = createHttpServer((request, response) => {
      paths.push(request.url ?? "");
      request.resume().on("end", () => response.writeHead(202).end("{}"));
    });
    await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
    vi.stubEnv("LANGSMITH_ENDPOINT", `http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
    vi.stubEnv("LANGSMITH_API_KEY", "none");
    vi.stubEnv("LANGSMITH_TRACING", "true");
    const { outcome } = await observe(RUNS["a tool call"]!, asItIs);
    await awaitAllCallbacks();
    expect(outcome).toMatchObject({ value: { content: "hi", tool_call_id: "c1" } });
    expect(paths.some((path) => path.startsWith("/runs"))).toBe(true);
    collector.closeAllConnections();
    await new Promise((resolve) => collector.close(resolve));
  });
});
