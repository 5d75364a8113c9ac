/** The door `toolport/ai-sdk`: tools and prompts for the AI SDK, versions 5, 6 and 7. */
export type { ContentOptions } from "../content-options.js";
export type { OnSchemaChange, SchemaReport, ToolSelection } from "../offered-tools.js";
export type { AiSdkToolResult } from "./progress-results.js";
export { type AiSdkPromptMessage, type AiSdkPromptPart, toAiSdkMessages } from "./to-messages.js";
export { type AiSdkToolsOptions, toAiSdkTools } from "./to-tools.js";
export type { AiSdkSchema, AiSdkToolSchemas, TypedAiSdkTools } from "./tool-schemas.js";
