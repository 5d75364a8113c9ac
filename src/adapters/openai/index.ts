/** The entry point `toolport/openai`: tools, calls and prompts in the format of OpenAI's APIs, without its package. */
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
export type { OpenAIApi, OpenAIChatPart, OpenAIResponsesPart } from "./content.js";
export {
  type OpenAIChatText,
  type OpenAIContentOptions,
  type OpenAIMessagesOptions,
  type OpenAIPromptMessage,
  toOpenAIContent,
  toOpenAIMessages,
} from "./content.js";
export type { OpenAIChatAnswer, OpenAIResponsesAnswer, OpenAIResponsesItem } from "./run-tool-calls.js";
export {
  type OpenAICallerItem,
  type OpenAIFunctionCallOutput,
  type OpenAIResponsesOutput,
  type OpenAIResumeOptions,
  type OpenAIRunOptions,
  type OpenAIToolMessage,
  type OpenAIToolSearchOutput,
  resumeOpenAIToolCalls,
  runOpenAIToolCalls,
} from "./run-tool-calls.js";
export {
  type OpenAICaller,
  type OpenAIChatTool,
  type OpenAIDeferredTool,
  type OpenAINamespaceTool,
  type OpenAIResponsesTool,
  type OpenAIToolSearchTool,
  type OpenAIToolsOptions,
  toOpenAITools,
} from "./to-tools.js";
