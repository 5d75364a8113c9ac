/** The entry point `toolport/gemini`: tools, calls and prompts in the format of Gemini's API, without its package. */
export type { ContentPart } from "../../content/content-part.js";
export type { CompactOption, CompactOptions } from "../../schema/derive/compact-derived.js";
export type { AudienceRule, ContentOptions, LeftOutContent } from "../content-options.js";
export type { ForModelOption, ForModelOptions, WithForModel } from "../for-model.js";
export type { OnSchemaChange, SchemaReport, ToolSelection } from "../offered-tools.js";
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
export type { GeminiInlineData, GeminiTextPart } from "./content.js";
export {
  type GeminiContentOptions,
  type GeminiPromptContent,
  toGeminiContent,
  toGeminiMessages,
} from "./content.js";
export {
  type GeminiAnswer,
  type GeminiFunctionResponse,
  type GeminiResponseContent,
  type GeminiResumeOptions,
  type GeminiRunOptions,
  resumeGeminiToolCalls,
  runGeminiToolCalls,
} from "./run-tool-calls.js";
export {
  type GeminiFunctionDeclaration,
  type GeminiTool,
  type GeminiToolsOptions,
  toGeminiTools,
} from "./to-tools.js";
