/** What other packages of this repository need of `adapters`, and programs do not. */
export { runAnthropicToolCalls } from "./anthropic/run-tool-calls.js";
export { toAnthropicTools } from "./anthropic/to-tools.js";
export { type OpenAIToolMessage, runOpenAIToolCalls } from "./openai/run-tool-calls.js";
export { toOpenAITools } from "./openai/to-tools.js";
export type { ToolSource } from "./tool-source.js";
