/** Sampling: the option `onSampling`, and handling `sampling/createMessage` with it. */
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
} from "@modelcontextprotocol/client";
import { ToolCallError } from "../../errors/toolport-error.js";
import { notServed, type RequestOrigin, runCallback, unusableCallbackResult } from "./run-callback.js";

/** The completion that a server requests. */
export type SamplingRequest = CreateMessageRequestParams;

/** The completion of the model. */
export type SamplingAnswer = CreateMessageResult | CreateMessageResultWithTools;

/** Asks a model on behalf of a server. It must respect `maxTokens`, and should let a user approve the prompt. */
export type SamplingHandler = (
  request: SamplingRequest,
  origin: RequestOrigin,
) => SamplingAnswer | Promise<SamplingAnswer>;

/**
 * Completes messages on behalf of servers. A function handles plain messages; `{ handle, tools: true }` also allows servers
 * to offer tools to the model.
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
      /** Servers may offer tools to the model. @default false */
      readonly tools?: boolean | undefined;
    };

/** The capability to advertise; undefined: none. */
export function samplingCapability(option: SamplingOption | undefined): ClientCapabilities["sampling"] {
  if (option === undefined) return undefined;
  return typeof option !== "function" && option.tools ? { tools: {} } : {};
}

const OPTION = "onSampling";

/** Handles `sampling/createMessage`. */
export async function handleSampling(
  params: Readonly<Record<string, unknown>>,
  origin: RequestOrigin,
  option: SamplingOption | undefined,
): Promise<Record<string, unknown>> {
  if (option === undefined)
    throw notServed(origin, { requested: "a model completion (sampling/createMessage)", option: OPTION });
  const { handle, tools } = typeof option === "function" ? { handle: option, tools: false } : option;
  if (!tools && (params["tools"] !== undefined || params["toolChoice"] !== undefined))
    throw notServed(origin, {
      requested: "a model completion with tools (sampling/createMessage)",
      option: "onSampling: { handle, tools: true }",
    });
  if (!Array.isArray(params["messages"]) || typeof params["maxTokens"] !== "number") {
    throw new ToolCallError({
      code: "PROTOCOL",
      server: origin.server,
      tool: origin.tool,
      what: "The server requested a completion without messages or without maxTokens",
      next: "Report this to the author of the server",
    });
  }
  const result = await runCallback(OPTION, origin, () => handle(params as SamplingRequest, origin));
  if (typeof result?.model !== "string" || typeof result.role !== "string" || !isContent(result.content))
    throw unusableCallbackResult(OPTION, origin, { what: "it lacks a role, a model or content" });
  return result;
}

const isContent = (content: unknown): boolean => typeof content === "object" && content !== null;
