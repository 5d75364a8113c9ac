/**
 * The tool search of OpenAI's Responses API and of Anthropic's Messages API as a `fetch` with a scripted model. It keeps the requests, and
 * rejects what the providers reject. The model calls only tools that it sees or has loaded.
 */
import { AnthropicSide } from "./search-double-anthropic.js";
import { OpenAISide } from "./search-double-openai.js";
import type { ApiSide, Body, LiveSearchTurn } from "./search-turns.js";

export interface SearchDouble {
  readonly fetch: typeof globalThis.fetch;
  readonly requests: readonly Body[];
  /** The values of the header `anthropic-beta`, by request. */
  readonly betas: readonly string[];
}

export function createSearchDouble(turns: readonly LiveSearchTurn[]): SearchDouble {
  const requests: Body[] = [];
  const betas: string[] = [];
  const sides: Record<string, ApiSide> = { responses: new OpenAISide(), messages: new AnthropicSide() };
  let place = 0;
  const nextFor = (body: Body) => () => {
    const turn = turns[place++] ?? "The script is over";
    return typeof turn === "function" ? turn(body) : turn;
  };
  return {
    requests,
    betas,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const body = (await request.json()) as Body;
      requests.push(body);
      betas.push(request.headers.get("anthropic-beta") ?? "");
      const side = sides[new URL(request.url).pathname.split("/").at(-1) ?? ""];
      const problem = side === undefined ? "There is no such API" : side.problem(body);
      if (side === undefined || problem !== undefined) {
        const error = { type: "invalid_request_error", code: "invalid_value", param: null, message: problem };
        return Response.json({ type: "error", error }, { status: 400 });
      }
      return Response.json(side.respond(body, nextFor(body)));
    },
  };
}
