/** The entry point `toolport/ai-sdk`: tools and prompts for the AI SDK, versions 5, 6 and 7. */
export type { ContentPart } from "../../content/content-part.js";
export type { AudienceRule, ContentOptions, LeftOutContent } from "../content-options.js";
export type { OnSchemaChange, SchemaForm, SchemaReport, ToolSelection } from "../offered-tools.js";
export type { ResultContent } from "../result-parts.js";
export type { AiSdkCall, AiSdkSuspendOptions } from "./bound-approvals.js";
export type { AiSdkModelOutput, AiSdkOutputPart, AiSdkVersion } from "./content.js";
export type { AiSdkToolResult } from "./progress-results.js";
export {
  type AiSdkMessage,
  type AiSdkPendingCall,
  type AiSdkResumeFailure,
  type ResumedMessages,
  type ResumeMessagesOptions,
  resumeMessages,
} from "./resume-messages.js";
export { type AiSdkSuspendedOutput, hasSuspended } from "./suspended-output.js";
export { type AiSdkContentOptions, toAiSdkContent } from "./to-content.js";
export { type AiSdkPromptMessage, type AiSdkPromptPart, toAiSdkMessages } from "./to-messages.js";
export { toAiSdkTools } from "./to-tools.js";
export type { AiSdkSchema, AiSdkToolSchemas, TypedAiSdkTools } from "./tool-schemas.js";
export type { AiSdkToolsOptions } from "./tools-options.js";
