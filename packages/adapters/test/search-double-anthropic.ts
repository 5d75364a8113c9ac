/** Tool search in Anthropic's Messages API: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool */
import { type ApiSide, type Body, namesLike, type SearchTurn } from "./search-turns.js";

const isSearch = ({ type }: Body) => typeof type === "string" && type.startsWith("tool_search_tool_");

export class AnthropicSide implements ApiSide {
  #count = 0;
  /** `caller` of every call that was made. */
  readonly #callers = new Map<string, unknown>();

  problem(body: Body): string | undefined {
    const tools: Body[] = body.tools ?? [];
    const names = tools.map(({ name }) => name);
    if (new Set(names).size < names.length) return "Tool names must be unique.";
    if (tools.some((tool) => isSearch(tool) && tool.defer_loading === true))
      return "The tool search tool itself must not have defer_loading=true.";
    if (tools.length > 0 && tools.every(({ defer_loading }) => defer_loading === true))
      return "At least one tool must have defer_loading=false.";
    return this.#messageProblem(body.messages, names);
  }

  #messageProblem(messages: readonly Body[], names: readonly string[]): string | undefined {
    for (const [index, { role, content }] of messages.entries()) {
      const blocks = blocksOf(content);
      if (role === "assistant") {
        const results = blocksOf(messages[index + 1]?.content).filter(({ type }) => type === "tool_result");
        const open = blocks.find(
          ({ type, id }) => type === "tool_use" && !results.some(({ tool_use_id }) => tool_use_id === id),
        );
        if (open !== undefined) return `tool_use ${open.id} was found without a tool_result.`;
        const lost = blocks.find(
          ({ type, id, caller }) =>
            type === "tool_use" && JSON.stringify(caller) !== JSON.stringify(this.#callers.get(id)),
        );
        if (lost !== undefined) return `tool_use ${lost.id} has lost its caller.`;
        const unanswered = blocks.find(
          ({ type, id }) =>
            type === "server_tool_use" && !blocks.some(({ tool_use_id }) => tool_use_id === id),
        );
        if (unanswered !== undefined) return `server_tool_use ${unanswered.id} has no result.`;
      } else {
        const calls = blocksOf(messages[index - 1]?.content).filter(({ type }) => type === "tool_use");
        const lone = blocks.find(
          ({ type, tool_use_id }) => type === "tool_result" && !calls.some(({ id }) => id === tool_use_id),
        );
        if (lone !== undefined) return `tool_result ${lone.tool_use_id} has no tool_use.`;
      }
      const unknown = references(blocks).find((name) => !names.includes(name));
      if (unknown !== undefined) return `Tool reference '${unknown}' not found in available tools.`;
    }
    return undefined;
  }

  respond(body: Body, next: () => SearchTurn): Body {
    const content: Body[] = [];
    let stop_reason = "end_turn";
    for (let turn = next(); ; turn = next()) {
      const id = `toolu_${++this.#count}`;
      if (typeof turn === "string") {
        content.push({ type: "text", text: turn });
        break;
      }
      const tools: Body[] = body.tools ?? [];
      if ("search" in turn) {
        const hosted = tools.find(isSearch);
        if (hosted === undefined) {
          content.push({ type: "tool_use", id, name: "search_tools", input: { query: turn.search } });
          stop_reason = "tool_use";
          break;
        }
        const deferred = tools.filter(({ defer_loading }) => defer_loading === true);
        const found = namesLike(
          turn.search,
          deferred.map(({ name }) => name),
        );
        const tool_references = found.map((tool_name) => ({ type: "tool_reference", tool_name }));
        const server = `srv${id}`;
        content.push(
          { type: "server_tool_use", id: server, name: hosted.name, input: { query: turn.search } },
          {
            type: "tool_search_tool_result",
            tool_use_id: server,
            content: { type: "tool_search_tool_search_result", tool_references },
          },
        );
        continue;
      }
      const seen = [
        ...tools.filter(({ defer_loading }) => defer_loading !== true).map(({ name }) => name),
        ...references([...body.messages.flatMap((message: Body) => blocksOf(message.content)), ...content]),
      ];
      if (!seen.includes(turn.call)) throw new Error(`The model does not see ${turn.call}.`);
      const caller = turn.caller === undefined ? undefined : { type: turn.caller, tool_id: "srvtoolu_0" };
      this.#callers.set(id, caller);
      content.push({ type: "tool_use", id, name: turn.call, input: turn.args, ...(caller && { caller }) });
      stop_reason = "tool_use";
      break;
    }
    const usage = { input_tokens: 1, output_tokens: 1 };
    const head = { id: `msg_${++this.#count}`, type: "message", role: "assistant", model: body.model };
    return { ...head, content, stop_reason, stop_sequence: null, usage };
  }
}

const blocksOf = (content: Body): Body[] => (Array.isArray(content) ? content : []);

/** The names of all tools that a search returned. */
const references = (blocks: readonly Body[]): string[] =>
  blocks.flatMap(({ type, content }) => {
    const found =
      type === "tool_search_tool_result"
        ? (content.tool_references ?? [])
        : type === "tool_result"
          ? blocksOf(content)
          : [];
    return found.flatMap((one: Body) => (one.type === "tool_reference" ? [one.tool_name] : []));
  });
