/** The entry point `toolport/anthropic`: tools, calls and prompts in the format of Anthropic's API, without its package. */
export type { ContentPart } from "../../content/content-part.js";
export type { AudienceRule, ContentOptions, LeftOutContent } from "../content-options.js";
export type { OnSchemaChange, SchemaReport, ToolSelection } from "../offered-tools.js";
export type {
  PendingCall,
  ResumeAnswers,
  ResumedRun,
  ResumeFailure,
  SuspendedRun,
} from "../pending-calls.js";
export type { ResultContent } from "../result-parts.js";
export type { RequestedCall, SuspendCallsOptions, WithSuspend } from "../run-calls.js";
export type {
  AnthropicDocumentBlock,
  AnthropicFileBlock,
  AnthropicImageBlock,
  AnthropicTextBlock,
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
export { type AnthropicContentOptions, toAnthropicContent } from "./to-content.js";
export { type AnthropicPromptMessage, toAnthropicMessages } from "./to-messages.js";
export { type AnthropicTool, type AnthropicToolsOptions, toAnthropicTools } from "./to-tools.js";
