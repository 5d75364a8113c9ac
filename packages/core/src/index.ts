/** The public names of the client: what the entry points of `toolport` export of it. */
export type { OAuthStatus } from "./auth/server-oauth.js";
export type { CatalogExport } from "./catalog/exported-catalog.js";
export type { ScanHook } from "./catalog/safety/scan.js";
export { McpToolMetadataKeys, toolMetadata } from "./catalog/tool-metadata.js";
export type { OAuthOptions } from "./config/read-oauth.js";
export type {
  CustomServerEntry,
  DockerServerEntry,
  FailurePredicate,
  HttpServerEntry,
  ServerEntry,
  StdioServerEntry,
  WebSocketServerEntry,
} from "./config/server-entry.js";
export type { WaitOptions } from "./connection/connection-state.js";
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  OtherContent,
  ResourceLink,
  TextContent,
} from "./content/content-block.js";
export { type ContentPart, toContentParts } from "./content/content-part.js";
export { createToolport } from "./create-toolport.js";
export type { ApprovalRequest } from "./execution/approve.js";
export { TRUNCATED_META_KEY, type Truncation } from "./execution/artifacts/result-payload.js";
export { type CacheResultsOptions, cacheResults } from "./execution/cache-results.js";
export type { FallbackRequest } from "./execution/fallback.js";
export type { CallEndEvent, CallEvent, CallListener } from "./execution/listeners.js";
export {
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
  type SuspendedForApproval,
  type SuspendedForInput,
  type SuspendedForLogin,
} from "./execution/suspend/suspension.js";
export type {
  CallInterceptor,
  CallToolOptions,
  SuspendCallOptions,
  TaskCallOptions,
  ToolCall,
} from "./execution/tool-call.js";
export type { ToolResult } from "./execution/tool-result.js";
export type { Completion, CompletionReference } from "./port/complete.js";
export type { ToolportEvents } from "./port/events.js";
export type { PromptResult } from "./port/get-prompt.js";
export type { InstructionsOptions } from "./port/instructions.js";
export type { OAuthCallbackOptions } from "./port/oauth-callback.js";
export type { ToolportOptions } from "./port/options.js";
export type { ResourcesPresenter } from "./port/own-tools/own-tools.js";
export type { PrincipalOptions } from "./port/principal.js";
export type { ConnectReport, ServerReport } from "./port/report.js";
export type { ResourceUpdate } from "./port/resources/subscriptions.js";
export type { AccessOptions, ReadResourceOptions } from "./port/server-access.js";
export type { SkillContent, SkillInfo, Skills } from "./port/skills.js";
export type { ServerSnapshot, ToolportSnapshot } from "./port/snapshot.js";
export type { TaskHandle, TaskInfo, TaskResultOptions } from "./port/tasks/port-tasks.js";
export type { CostOptions, ToolCosts } from "./port/tool-costs.js";
export type { Progress } from "./protocol/pending-request.js";
export type {
  ElicitationAnswer,
  ElicitationOption,
  ElicitationRequest,
} from "./protocol/server-requests/elicitation.js";
export type {
  RequestOrigin,
  SamplingAnswer,
  SamplingRequest,
} from "./protocol/server-requests/sampling-and-roots.js";
export type { ServerLogEntry, ServerLogListener } from "./protocol/server-requests/server-request-options.js";
export type { ConnectOptions, Toolport, ToolsOptions } from "./toolport.js";
export { createLinkedTransports } from "./transports/memory/linked-transports.js";
export type { ServerTransport } from "./transports/server-transport.js";
