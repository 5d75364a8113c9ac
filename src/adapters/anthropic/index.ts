/** The entry point `toolport/anthropic`: tools, calls and prompts in the format of Anthropic's API, without its package. */
export type { ContentPart } from "../../content/content-part.js";
export type { CompactOption, CompactOptions } from "../../schema/derive/compact-derived.js";
export type { AudienceRule, ContentOptions, LeftOutContent } from "../content-options.js";
export type { ForModelOption, ForModelOptions, WithForModel } from "../for-model.js";
export type {
  AllowedCallers,
  DeferredOptions,
  DeferredTools,
  OnSchemaChange,
  SchemaReport,
  ToolSelection,
} from "../offered-tools.js";
export type {
  PendingCall,
  ResumeAnswers,
  ResumedRun,
  ResumeFailure,
  SuspendedRun,
} from "../pending-calls.js";
export type { ResultContent } from "../result-parts.js";
export type {
  CallerOfCall,
  RequestedCall,
  SuspendCallsOptions,
  WithOfferedTools,
  WithSuspend,
} from "../run-calls.js";
export type { ToolSource } from "../tool-source.js";
export type {
  AnthropicDocumentBlock,
  AnthropicFileBlock,
  AnthropicImageBlock,
  AnthropicTextBlock,
} from "./content.js";
export {
  type AnthropicContentOptions,
  type AnthropicPromptMessage,
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
