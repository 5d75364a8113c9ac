/** The entry point `toolport/anthropic`: tools, calls and prompts in the format of Anthropic's API, without its package. */
export type { AllowedCallers, DeferredOptions, DeferredTools } from "../offered-tools.js";
export type * from "../provider-types.js";
export {
  type AnthropicContentOptions,
  type AnthropicDocumentBlock,
  type AnthropicFileBlock,
  type AnthropicImageBlock,
  type AnthropicPromptMessage,
  type AnthropicTextBlock,
  toAnthropicContent,
  toAnthropicMessages,
} from "./content.js";
export {
  type AnthropicAnswer,
  type AnthropicResumeOptions,
  type AnthropicRunOptions,
  type AnthropicToolReference,
  type AnthropicToolResult,
  type AnthropicToolResultMessage,
  resumeAnthropicToolCalls,
  runAnthropicToolCalls,
} from "./run-tool-calls.js";
export {
  type AnthropicCaller,
  type AnthropicDeferredTool,
  type AnthropicTool,
  type AnthropicToolSearchTool,
  type AnthropicToolsOptions,
  toAnthropicTools,
} from "./to-tools.js";
