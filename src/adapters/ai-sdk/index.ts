/** The entry point `toolport/ai-sdk`: tools and prompts for the AI SDK, versions 5, 6 and 7. */

export type { ContentPart } from "../../content/content-part.js";
export type { CompactOption, CompactOptions } from "../../schema/derive/compact-schema.js";
export type { ForModelOption, ForModelOptions, WithForModel } from "../for-model.js";
export type { AudienceRule, ContentOptions, LeftOutContent, ResultContent } from "../model-content.js";
export type {
  AllowedCallers,
  OnSchemaChange,
  SchemaForm,
  SchemaReport,
  ToolSelection,
} from "../offered-tools.js";
export type { ToolSource } from "../tool-source.js";
export type { AiSdkCall, AiSdkSuspendOptions } from "./bound-approvals.js";
export {
  type AiSdkContentOptions,
  type AiSdkModelOutput,
  type AiSdkOutputPart,
  type AiSdkPromptMessage,
  type AiSdkPromptPart,
  type AiSdkSuspendedOutput,
  type AiSdkVersion,
  hasSuspended,
  toAiSdkContent,
  toAiSdkMessages,
} from "./content.js";
export { type AiSdkToolSearch, type AiSdkToolSearchOptions, toAiSdkToolSearch } from "./deferred-tools.js";
export {
  type AiSdkMessage,
  type AiSdkPendingCall,
  type AiSdkResumeFailure,
  type ResumedMessages,
  type ResumeMessagesOptions,
  resumeMessages,
} from "./resume-messages.js";
export { toAiSdkTools } from "./to-tools.js";
export type {
  AiSdkDeferred,
  AiSdkSchema,
  AiSdkToolResult,
  AiSdkToolSchemas,
  AiSdkToolsOptions,
  TypedAiSdkTools,
} from "./tools-options.js";
