/** The types that the entry points of all providers export. */
export type { ContentPart } from "../content/content-part.js";
export type { CompactOption, CompactOptions } from "../schema/derive/compact-schema.js";
export type { ForModelOption, ForModelOptions, WithForModel } from "./for-model.js";
export type { AudienceRule, ContentOptions, LeftOutContent, ResultContent } from "./model-content.js";
export type { OnSchemaChange, SchemaReport, ToolSelection } from "./offered-tools.js";
export type {
  CallerOfCall,
  PendingCall,
  RequestedCall,
  ResumeAnswers,
  ResumedRun,
  ResumeFailure,
  SuspendCallsOptions,
  SuspendedRun,
  WithOfferedTools,
  WithSuspend,
} from "./run-calls.js";
export type { ToolSource } from "./tool-source.js";
