/** The entry point `toolport/ai-sdk`: tools and prompts for the AI SDK, versions 5, 6 and 7. */

export {
  type AiSdkContentOptions,
  type AiSdkModelOutput,
  type AiSdkPromptMessage,
  toAiSdkContent,
  toAiSdkMessages,
} from "./content.js";
export { type AiSdkSuspendedOutput, hasSuspended } from "./model-outputs.js";
export type { AiSdkToolResult } from "./progress-results.js";
export {
  type AiSdkMessage,
  type ResumedMessages,
  type ResumeMessagesOptions,
  resumeMessages,
} from "./resume-messages.js";
export { type AiSdkToolSearch, type AiSdkToolSearchOptions, toAiSdkToolSearch } from "./to-tool-search.js";
export { toAiSdkTools } from "./to-tools.js";
export type { AiSdkToolSchemas, TypedAiSdkTools } from "./tool-schemas.js";
export type { AiSdkToolsOptions } from "./tools-options.js";
