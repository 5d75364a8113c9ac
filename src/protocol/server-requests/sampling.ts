/** Servers that ask for a completion of the client's model: the option, and how a request is answered through it. */
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
} from "@modelcontextprotocol/client";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { RequestOrigin } from "./request-origin.js";
import { notServed, runCallback, unusableAnswer } from "./run-callback.js";

/** What a server wants a model to complete. */
export type SamplingRequest = CreateMessageRequestParams;

/** What the model said. */
export type SamplingAnswer = CreateMessageResult | CreateMessageResultWithTools;

/** Asks a model on behalf of a server. It must keep to `maxTokens`, and should let somebody approve the prompt. */
export type SamplingHandler = (
  request: SamplingRequest,
  origin: RequestOrigin,
) => SamplingAnswer | Promise<SamplingAnswer>;

/**
 * Serves servers that ask for a completion. A function serves plain messages; `{ handle, tools: true }` says that the
 * model may be given tools as well.
 *
 * @example
 * ```ts
 * const onSampling: SamplingOption = async ({ messages, maxTokens }, { server, signal }) => {
 *   const text = await model.complete(messages, { maxTokens, signal, onBehalfOf: server });
 *   return { role: "assistant", model: "my-model", content: { type: "text", text } };
 * };
 * ```
 */
export type SamplingOption =
  | SamplingHandler
  | {
      readonly handle: SamplingHandler;
      /** The model can be given tools. @default false */
      readonly tools?: boolean | undefined;
    };

/** What to tell servers; undefined: nothing. */
export function samplingCapability(option: SamplingOption | undefined): ClientCapabilities["sampling"] {
  if (option === undefined) return undefined;
  return typeof option !== "function" && option.tools ? { tools: {} } : {};
}

const OPTION = "onSampling";

/** Answers `sampling/createMessage`. */
export async function answerSampling(
  params: Readonly<Record<string, unknown>>,
  origin: RequestOrigin,
  option: SamplingOption | undefined,
): Promise<Record<string, unknown>> {
  if (option === undefined)
    throw notServed(origin, { wanted: "a completion of a model (sampling/createMessage)", option: OPTION });
  const { handle, tools } = typeof option === "function" ? { handle: option, tools: false } : option;
  if (!tools && (params["tools"] !== undefined || params["toolChoice"] !== undefined))
    throw notServed(origin, {
      wanted: "a completion of a model with tools (sampling/createMessage)",
      option: "onSampling: { handle, tools: true }",
    });
  if (!Array.isArray(params["messages"]) || typeof params["maxTokens"] !== "number") {
    throw new ToolCallError({
      code: "PROTOCOL",
      server: origin.server,
      tool: origin.tool,
      what: "The server asked for a completion without messages or without maxTokens",
      next: "Report this to the maker of the server",
    });
  }
  const answer = await runCallback(OPTION, origin, () => handle(params as SamplingRequest, origin));
  if (typeof answer?.model !== "string" || typeof answer.role !== "string" || !isContent(answer.content))
    throw unusableAnswer(OPTION, origin, { what: "it has no role, no model or no content" });
  return answer;
}

const isContent = (content: unknown): boolean => typeof content === "object" && content !== null;
