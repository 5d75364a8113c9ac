/** The entry point `toolport/anthropic`: tools, calls and prompts in the format of Anthropic's API, without its package. */
export type { ResumeAnswers, ResumedRun, SuspendedRun } from "../run-calls.js";
export {
  type AnthropicContentOptions,
  type AnthropicFileBlock,
  type AnthropicPromptMessage,
  type AnthropicTextBlock,
  toAnthropicContent,
  toAnthropicMessages,
} from "./content.js";
export {
  type AnthropicAnswer,
  type AnthropicResumeOptions,
  type AnthropicRunOptions,
  type AnthropicToolResult,
  type AnthropicToolResultMessage,
  resumeAnthropicToolCalls,
  runAnthropicToolCalls,
} from "./run-tool-calls.js";
export {
  type AnthropicDeferredTool,
  type AnthropicTool,
  type AnthropicToolsOptions,
  toAnthropicTools,
} from "./to-tools.js";
