/** The entry point `toolport/ai-sdk`: tools and prompts for the AI SDK, versions 5, 6 and 7. */

export {
  type AiSdkContentOptions,
  type AiSdkModelOutput,
  type AiSdkPromptMessage,
  type AiSdkSuspendedOutput,
  hasSuspended,
  toAiSdkContent,
  toAiSdkMessages,
} from "./content.js";
export { type AiSdkToolSearch, type AiSdkToolSearchOptions, toAiSdkToolSearch } from "./deferred-tools.js";
export {
  type AiSdkMessage,
  type ResumedMessages,
  type ResumeMessagesOptions,
  resumeMessages,
} from "./resume-messages.js";
export { toAiSdkTools } from "./to-tools.js";
export type {
  AiSdkToolResult,
  AiSdkToolSchemas,
  AiSdkToolsOptions,
  TypedAiSdkTools,
} from "./tools-options.js";
