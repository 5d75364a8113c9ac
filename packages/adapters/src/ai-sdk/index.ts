/** The entry point `toolport/ai-sdk`: tools and prompts for the AI SDK, versions 5, 6 and 7. */
export {
  type AiSdkContentOptions,
  type AiSdkMessage,
  type AiSdkModelOutput,
  type AiSdkPromptMessage,
  type AiSdkSuspendedOutput,
  hasSuspended,
  type ResumedMessages,
  type ResumeMessagesOptions,
  resumeMessages,
  toAiSdkContent,
  toAiSdkMessages,
} from "./content.js";
export { type AiSdkToolSearch, type AiSdkToolSearchOptions, toAiSdkToolSearch } from "./deferred-tools.js";
export { toAiSdkTools } from "./to-tools.js";
export type {
  AiSdkToolResult,
  AiSdkToolSchemas,
  AiSdkToolsOptions,
  TypedAiSdkTools,
} from "./tools-options.js";
