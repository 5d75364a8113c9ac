/** Tool search in OpenAI's Responses API: https://platform.openai.com/docs/guides/tools-tool-search */
import { type ApiSide, type Body, namesLike, type SearchTurn } from "./search-turns.js";

interface Loadable {
  readonly name: string;
  readonly isDeferred: boolean;
  readonly namespace: string | undefined;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export class OpenAISide implements ApiSide {
  /** Items of earlier responses: with `store`, a request may name them by id. */
  readonly #stored = new Map<string, Body>();
  #count = 0;

  problem(body: Body): string | undefined {
    return this.#toolProblem(body.tools ?? []) ?? this.#inputProblem(body);
  }

  #toolProblem(tools: Body[]): string | undefined {
    const searches = tools.filter(({ type }) => type === "tool_search");
    if (searches.length > 1) return "Only one tool_search is allowed.";
    for (const tool of tools) {
      if (tool.type !== "function" && "defer_loading" in tool)
        return `Unknown parameter: defer_loading of ${tool.type}.`;
      if (tool.type === "namespace" && (!NAME.test(tool.name) || !tool.description))
        return `Invalid namespace ${tool.name}.`;
      if (tool.type === "namespace" && !tool.tools.every(({ type }: Body) => type === "function"))
        return "A namespace contains only functions.";
    }
    const functions = loadable(tools);
    const names = functions.map(({ name }) => name);
    if (new Set(names).size < names.length) return "Tool names must be unique.";
    if (!names.every((name) => NAME.test(name))) return "Invalid tool name.";
    const namespaces = tools.filter(({ type }) => type === "namespace").map(({ name }) => name);
    if (new Set(namespaces).size < namespaces.length) return "Namespaces must be unique.";
    const hasDeferred = functions.some(({ isDeferred }) => isDeferred);
    return hasDeferred && searches.length === 0
      ? "defer_loading needs a tool_search in the same request."
      : undefined;
  }

  #inputProblem(body: Body): string | undefined {
    const items = this.#items(body);
    if (items.includes(undefined)) return "An item_reference names an unknown item.";
    const isClient = ({ execution }: Body) => execution === "client";
    const pairs = [
      { call: "function_call", output: "function_call_output", counts: () => true },
      { call: "tool_search_call", output: "tool_search_output", counts: isClient },
    ];
    for (const { call, output, counts } of pairs) {
      const calls = items.filter((item) => item.type === call && counts(item));
      const outputs = items.filter((item) => item.type === output && counts(item));
      const open = calls.find(({ call_id }) => !outputs.some((one) => one.call_id === call_id));
      if (open !== undefined) return `No tool output found for ${call} ${open.call_id}.`;
      const lone = outputs.find(({ call_id }) => !calls.some((one) => one.call_id === call_id));
      if (lone !== undefined) return `No tool call found for ${output} ${lone.call_id}.`;
      const lost = calls.find(
        ({ call_id, caller }) =>
          JSON.stringify(outputs.find((one) => one.call_id === call_id)?.caller) !== JSON.stringify(caller),
      );
      if (lost !== undefined) return `The output of ${lost.call_id} has lost its caller.`;
    }
    const broken = items.find((item) => item.type === "tool_search_output" && !Array.isArray(item.tools));
    return broken === undefined ? undefined : "tool_search_output needs tools.";
  }

  #items(body: Body): Body[] {
    const input: Body[] = typeof body.input === "string" ? [] : body.input;
    return input.map((item) => (item.type === "item_reference" ? this.#stored.get(item.id) : item));
  }

  respond(body: Body, next: () => SearchTurn): Body {
    const output: Body[] = [];
    const earlier = this.#items(body);
    for (let turn = next(); ; turn = next()) {
      const items = this.#outputOf(turn, body.tools ?? [], [...earlier, ...output]);
      output.push(...items);
      if (!items.some(({ type, execution }) => type === "tool_search_output" && execution === "server"))
        break;
    }
    for (const item of output) this.#stored.set(item.id, item);
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const id = `resp_${++this.#count}`;
    const head = { id, object: "response", created_at: 0, status: "completed", model: body.model };
    return { ...head, output, usage, parallel_tool_calls: true, tools: body.tools ?? [] };
  }

  #outputOf(turn: SearchTurn, tools: Body[], items: readonly Body[]): Body[] {
    const id = `item_${++this.#count}`;
    const status = "completed";
    if (typeof turn === "string") {
      const content = [{ type: "output_text", text: turn, annotations: [] }];
      return [{ type: "message", role: "assistant", id, status, content }];
    }
    if ("search" in turn) {
      const { execution = "server" } = tools.find(({ type }) => type === "tool_search") ?? {};
      const args = { query: turn.search };
      if (execution === "client")
        return [{ type: "tool_search_call", id, execution, call_id: `call_${id}`, status, arguments: args }];
      const found = hostedSearch(turn.search, tools);
      return [
        { type: "tool_search_call", id, execution, call_id: null, status, arguments: args },
        { type: "tool_search_output", id: `${id}_out`, execution, call_id: null, status, tools: found },
      ];
    }
    const known = [
      ...loadable(tools).filter(({ isDeferred }) => !isDeferred),
      ...items.filter(({ type }) => type === "tool_search_output").flatMap((item) => loadable(item.tools)),
    ].find(({ name }) => name === turn.call);
    if (known === undefined) throw new Error(`The model does not see ${turn.call}.`);
    const { namespace } = known;
    const call = { id, call_id: `call_${id}`, name: turn.call, arguments: JSON.stringify(turn.args) };
    return [
      {
        type: "function_call",
        status,
        ...call,
        ...(namespace !== undefined && { namespace }),
        ...(turn.caller !== undefined && { caller: { type: "program", caller_id: turn.caller } }),
      },
    ];
  }
}

function loadable(tools: readonly Body[]): Loadable[] {
  return tools.flatMap((tool): Loadable[] => {
    if (tool.type === "function")
      return [{ name: tool.name, isDeferred: tool.defer_loading === true, namespace: undefined }];
    if (tool.type !== "namespace") return [];
    return loadable(tool.tools).map((inner) => ({ ...inner, namespace: tool.name as string }));
  });
}

function hostedSearch(query: string, tools: readonly Body[]): Body[] {
  const isFound = ({ name, defer_loading }: Body) =>
    defer_loading === true && namesLike(query, [name]).length > 0;
  return tools.flatMap((tool) => {
    if (tool.type === "function") return isFound(tool) ? [tool] : [];
    if (tool.type !== "namespace") return [];
    const found = tool.tools.filter(isFound);
    return found.length === 0 ? [] : [{ ...tool, tools: found }];
  });
}
