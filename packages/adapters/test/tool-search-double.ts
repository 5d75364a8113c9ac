/** A local stand-in for OpenAI's responses API and Anthropic's messages API with tool search, and a scripted model. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { RequestBody } from "./model-double.js";
import { anthropicSearchProblems, openAIFunctions, openAISearchProblems } from "./tool-search-rules.js";

export interface DoubleCall {
  readonly name: string;
  readonly args: object;
}

/** The model searches with whatever search it is offered, calls tools that it sees (`by: "program"`: from its code), or ends. */
export type SearchStep =
  | { readonly search: string }
  | { readonly calls: readonly DoubleCall[]; readonly by?: "program" }
  | string;

export interface SearchDouble extends AsyncDisposable {
  readonly url: string;
  /** The bodies of all requests, in order. */
  readonly requests: readonly RequestBody[];
}

class Model {
  readonly #steps: SearchStep[];
  /** The callers of the calls that the model made. */
  readonly callers = new Map<string, unknown>();
  #ids = 0;

  constructor(steps: readonly SearchStep[]) {
    this.#steps = [...steps];
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#ids}`;
  }

  next(): SearchStep {
    return this.#steps.shift() ?? "The script is over";
  }
}

/** A call that the model cannot make because it does not see the tool. */
class Unseen extends Error {}

/** Words of the query in the name or the description. */
const matches = ({ name, description = "" }: RequestBody, query: string): boolean =>
  query.split(" ").some((word) => `${name} ${description}`.toLowerCase().includes(word));

function openAITurn({ tools = [], input }: RequestBody, model: Model): RequestBody[] {
  const items: RequestBody[] = typeof input === "string" ? [] : input;
  const isLoaded = (item: RequestBody) => item.type === "tool_search_output";
  const output: RequestBody[] = [];
  const seen = () => [
    ...openAIFunctions(tools).filter((tool) => !tool.defer_loading),
    ...openAIFunctions([...items, ...output].filter(isLoaded).flatMap((item) => item.tools)),
  ];
  const call = ({ name, args }: DoubleCall, caller?: object) => {
    const tool = seen().find((candidate) => candidate.name === name);
    if (tool === undefined) {
      const isFound = items.some(({ output: text }) => String(text).includes(`"${name}"`));
      if (!isFound || name === "call_tool") throw new Unseen(`The model does not see ${name}`);
      call({ name: "call_tool", args: { name, arguments: args } }, caller);
      return;
    }
    const id = model.id("call");
    if (caller !== undefined) model.callers.set(id, caller);
    output.push({
      type: "function_call",
      id: model.id("fc"),
      call_id: id,
      name,
      status: "completed",
      arguments: JSON.stringify(args),
      ...(tool.namespace && { namespace: tool.namespace }),
      ...(caller && { caller }),
    });
  };
  for (;;) {
    const step = model.next();
    if (typeof step === "string") {
      const content = [{ type: "output_text", text: step, annotations: [] }];
      return [
        ...output,
        { type: "message", id: model.id("msg"), role: "assistant", status: "completed", content },
      ];
    }
    if ("calls" in step) {
      const program = step.by && { type: "program", caller_id: model.id("prog") };
      if (program)
        output.push({
          type: "program",
          id: program.caller_id,
          call_id: program.caller_id,
          code: "await tools()",
          fingerprint: "f",
        });
      for (const wanted of step.calls) call(wanted, program);
      return output;
    }
    const search = tools.find(({ type }: RequestBody) => type === "tool_search");
    const asked = { type: "tool_search_call", id: model.id("tsc"), status: "completed" };
    if (search === undefined) {
      call({ name: "search_tools", args: { query: step.search } });
      return output;
    }
    if (search.execution === "client") {
      const args = { query: step.search };
      output.push({ ...asked, call_id: model.id("call"), execution: "client", arguments: args });
      return output;
    }
    const found = tools
      .filter(({ type }: RequestBody) => type === "namespace")
      .map((space: RequestBody) => ({
        ...space,
        tools: space.tools.filter((tool: RequestBody) => matches(tool, step.search)),
      }))
      .filter((space: RequestBody) => space.tools.length > 0);
    const hosted = { call_id: null, execution: "server", status: "completed" };
    const paths = found.map(({ name }: RequestBody) => name);
    output.push(
      { ...asked, ...hosted, arguments: { paths } },
      { ...hosted, type: "tool_search_output", id: model.id("tso"), tools: found },
    );
  }
}

function anthropicTurn({ tools = [], messages }: RequestBody, model: Model): RequestBody[] {
  const content: RequestBody[] = [];
  const blocks = () => [
    ...messages.flatMap((message: RequestBody) => (Array.isArray(message.content) ? message.content : [])),
    ...content,
  ];
  const seen = () => {
    const inner = blocks().flatMap((block) => block.content?.tool_references ?? block.content ?? []);
    const referred = inner.map(({ tool_name: name }: RequestBody) => name);
    return tools.filter((tool: RequestBody) => !tool.defer_loading || referred.includes(tool.name));
  };
  const call = ({ name, args }: DoubleCall, caller: object) => {
    if (!seen().some((tool: RequestBody) => tool.name === name)) {
      const isFound = JSON.stringify(blocks()).includes(`\\"${name}\\"`);
      if (!isFound || name === "call_tool") throw new Unseen(`The model does not see ${name}`);
      call({ name: "call_tool", args: { name, arguments: args } }, caller);
      return;
    }
    const id = model.id("toolu");
    model.callers.set(id, caller);
    content.push({ type: "tool_use", id, name, input: args, caller });
  };
  for (;;) {
    const step = model.next();
    if (typeof step === "string") return [...content, { type: "text", text: step, citations: null }];
    if ("calls" in step) {
      const id = model.id("srvtoolu");
      const caller = step.by ? { type: "code_execution_20260120", tool_id: id } : { type: "direct" };
      const code = { type: "server_tool_use", id, name: "code_execution", input: { code: "await tools()" } };
      if (step.by) content.push({ ...code, caller: { type: "direct" } });
      for (const wanted of step.calls) call(wanted, caller);
      return content;
    }
    const native = tools.find(({ type = "" }: RequestBody) => type.startsWith("tool_search_tool_"));
    if (native === undefined) {
      call({ name: "search_tools", args: { query: step.search } }, { type: "direct" });
      return content;
    }
    const id = model.id("srvtoolu");
    const found = tools.filter((tool: RequestBody) => tool.defer_loading && matches(tool, step.search));
    const references = found.map(({ name }: RequestBody) => ({ type: "tool_reference", tool_name: name }));
    const input = { query: step.search };
    const result = { type: "tool_search_tool_search_result", tool_references: references };
    content.push(
      { type: "server_tool_use", id, name: native.name, input, caller: { type: "direct" } },
      { type: "tool_search_tool_result", tool_use_id: id, content: result },
    );
  }
}

const APIS = [
  {
    path: /\/responses$/,
    problems: openAISearchProblems,
    answer: (body: RequestBody, model: Model) => ({
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: body.model,
      output: openAITurn(body, model),
    }),
    error: (message: string) => ({ error: { message, type: "invalid_request_error" } }),
  },
  {
    path: /\/messages$/,
    problems: anthropicSearchProblems,
    answer: (body: RequestBody, model: Model) => {
      const content = anthropicTurn(body, model);
      const isOver = content.every(({ type }) => type !== "tool_use");
      return {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: body.model,
        content,
        stop_reason: isOver ? "end_turn" : "tool_use",
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      };
    },
    error: (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  },
];

/** Follows the script, and rejects every request that breaks a rule of the real API. */
export async function startSearchDouble(script: readonly SearchStep[]): Promise<SearchDouble> {
  const model = new Model(script);
  const requests: RequestBody[] = [];
  const server = createServer(async (request, response) => {
    const body: RequestBody = await json(request);
    requests.push(body);
    const send = (status: number, answer: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    const api = APIS.find(({ path }) => path.test(request.url ?? ""));
    if (api === undefined) return send(404, { error: { message: `no API at ${request.url}` } });
    const problems = api.problems(body, model.callers);
    if (problems.length > 0) return send(400, api.error(problems.join("\n")));
    try {
      return send(200, api.answer(body, model));
    } catch (error) {
      if (!(error instanceof Unseen)) throw error;
      return send(422, api.error(error.message));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
