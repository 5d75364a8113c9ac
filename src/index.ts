/** The main entry point `toolport`: named exports only. */
export type { OAuthStatus } from "./auth/server-oauth.js";
export type { ToolNameMapper, ToolSpecificationMapper } from "./catalog/build-snapshot.js";
export type { CatalogExport, ExportedServer } from "./catalog/exported-catalog.js";
export type { FilterInput, ToolFilters } from "./catalog/filters/filters.js";
export type { NameIssue, NameIssueKind } from "./catalog/names/assign-names.js";
export type { ChangedTool, PinMode } from "./catalog/safety/pins.js";
export type { ModelString, ScanHook, Scanned } from "./catalog/safety/scan.js";
export { McpToolMetadataKeys, toolMetadata } from "./catalog/tool-metadata.js";
export type { TemplateArguments } from "./catalog/uri-template.js";
export type { EnterpriseAuthorization, OAuthOptions, PrivateKeySource } from "./config/read-oauth.js";
export type {
  BaseUrlServerEntry,
  CacheOption,
  CheckArguments,
  CommonServerEntry,
  CustomServerEntry,
  DockerServerEntry,
  FailedCall,
  FailurePredicate,
  FallbackOption,
  HeadersOption,
  HttpServerEntry,
  HttpServerOptions,
  NetworkOptions,
  ProtocolChoice,
  ProxyOption,
  ReconnectOptions,
  ServerEntry,
  SseUrlServerEntry,
  StdioServerEntry,
  WebSocketServerEntry,
} from "./config/server-entry.js";
export type { ConnectionStatus, StateChange } from "./connection/connection-state.js";
export type { WaitOptions } from "./connection/server-connection.js";
export type {
  AudioContent,
  ContentAnnotations,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  OtherContent,
  ResourceLink,
  TextContent,
} from "./content/content-block.js";
export { type ContentPart, toContentParts } from "./content/content-part.js";
export { createToolport } from "./create-toolport.js";
export { AuthError, type AuthErrorCode } from "./errors/auth-error.js";
export { CatalogError, type CatalogErrorCode } from "./errors/catalog-error.js";
export {
  classifyError,
  type ErrorClassification,
  type ErrorType,
  isTransportNotImplemented,
  isUnauthorized,
  shouldRetry,
} from "./errors/classify-error.js";
export { ConfigError, type ConfigErrorCode, type ConfigIssue } from "./errors/config-error.js";
export {
  ConnectionError,
  type ConnectionErrorCode,
  type ConnectionErrorDetails,
} from "./errors/connection-error.js";
export { StateError, type StateErrorCode } from "./errors/state-error.js";
export { SuspensionError, type SuspensionErrorCode } from "./errors/suspension-error.js";
export {
  ToolCallError,
  type ToolCallErrorCode,
  type ToolCallErrorDetails,
} from "./errors/tool-call-error.js";
export { type Outcome, ToolportError, type ToolportErrorInit } from "./errors/toolport-error.js";
export type { ApprovalRequest, ApproveFunction, ApproveOption } from "./execution/approve.js";
export type { BreakerOptions, BreakerSnapshot } from "./execution/breaker.js";
export { type CacheResultsOptions, cacheResults } from "./execution/cache-results.js";
export type { BeforeFallback, FallbackRequest } from "./execution/fallback.js";
export type {
  CallEndEvent,
  CallEvent,
  CallListener,
  CallNews,
  CallProgressNews,
} from "./execution/listeners.js";
export {
  type ResultSizeOption,
  type ResultSizeOptions,
  TRUNCATED_META_KEY,
  type Truncation,
} from "./execution/result-size.js";
export type { RetryOptions } from "./execution/retry.js";
export type { SuspendReason } from "./execution/suspend/call-suspension.js";
export {
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
  type SuspendedForApproval,
  type SuspendedForInput,
  type SuspendedForLogin,
} from "./execution/suspend/suspension.js";
export type { TaskRecord } from "./execution/tasks/task-record.js";
export type {
  CallAttempt,
  CallHandler,
  CallInterceptor,
  CallToolOptions,
  SuspendCallOptions,
  SuspendOptions,
  TaskCallOptions,
  TaskOptions,
  ToolCall,
} from "./execution/tool-call.js";
export type {
  MalformedContent,
  ResultArtifact,
  StructuredBlock,
  ToolResult,
} from "./execution/tool-result.js";
export type { JsonSchema, ListedTool, ServerRef, ToolAnnotations, ToolFilter } from "./model/listed-tool.js";
export type { LogLevel } from "./model/log-levels.js";
export type {
  PromptInfo,
  ResourceContents,
  ResourceInfo,
  ResourceTemplateInfo,
} from "./model/resource-info.js";
export type { ToolInfo, WithheldTool } from "./model/tool-info.js";
export type { ToolUi } from "./model/tool-ui.js";
export type { Completion, CompletionArgument, CompletionReference } from "./port/complete.js";
export type {
  AuthRequest,
  ServerMessage,
  ServerNotification,
  SuspensionNews,
  ToolportEvents,
} from "./port/events.js";
export type { PromptResult } from "./port/get-prompt.js";
export type { InstructionsOptions } from "./port/instructions.js";
export type { OAuthCallbackOptions, OAuthCallbackResult } from "./port/oauth-callback.js";
export type {
  DeferToolsOption,
  DeferToolsOptions,
  ServerErrorPolicy,
  ToolportOptions,
} from "./port/options.js";
export type {
  ListedResource,
  OwnTool,
  PromptsAsToolsOption,
  PromptToolsOptions,
  ResourceAccess,
  ResourcesAsToolsOption,
  ResourcesPresenter,
  ResourceToolsOptions,
} from "./port/own-tools/own-tools.js";
export type { SuspensionCounts } from "./port/port-core.js";
export type { PrincipalOptions } from "./port/principal.js";
export type { ConnectReport, ServerReport } from "./port/report.js";
export type { TemplateReference } from "./port/resources/read-resource.js";
export type { ResourceListener, ResourceUpdate } from "./port/resources/subscriptions.js";
export type { AccessOptions, ReadResourceOptions } from "./port/server-access.js";
export type { SkillContent, SkillFileInfo, SkillInfo, Skills } from "./port/skills.js";
export type { ServerSnapshot, ToolportSnapshot } from "./port/snapshot.js";
export type { TaskHandle, TaskInfo, TaskResultOptions } from "./port/tasks/port-tasks.js";
export type { CostOptions, CountTokens, ServerCost, ToolCost, ToolCosts } from "./port/tool-costs.js";
export type { Era } from "./protocol/era.js";
export type { Progress } from "./protocol/pending-request.js";
export type { FormValue } from "./protocol/server-requests/complete-form.js";
export type {
  ElicitationAnswer,
  ElicitationHandler,
  ElicitationOption,
} from "./protocol/server-requests/elicitation.js";
export type {
  ElicitationRequest,
  FormElicitation,
  FormSchema,
  UrlElicitation,
} from "./protocol/server-requests/elicitation-request.js";
export type { Root, RootsOption } from "./protocol/server-requests/roots.js";
export type { RequestOrigin } from "./protocol/server-requests/run-callback.js";
export type {
  SamplingAnswer,
  SamplingHandler,
  SamplingOption,
  SamplingRequest,
} from "./protocol/server-requests/sampling.js";
export type {
  ServerLogEntry,
  ServerLogListener,
  ServerRequestOptions,
} from "./protocol/server-requests/server-request-options.js";
export type { TaskStatus, TaskStatusName } from "./protocol/tasks.js";
export type { InputPlace, InputValue, RegistryInput } from "./registry/input-resolver.js";
export { McpRegistryClient, type RegistryInfo } from "./registry/mcp-registry-client.js";
export type {
  AllServersOptions,
  GetServerOptions,
  ListServersOptions,
  McpRegistryClientOptions,
  RegistryCallOptions,
  RegistryRetryOptions,
  RegistryWarning,
} from "./registry/registry-options.js";
export type {
  KeyValueInput,
  OfficialMeta,
  RegistryPage,
  RegistryServer,
  ServerArgument,
  ServerInput,
  ServerJson,
  ServerPackage,
  ServerRemote,
  SkippedServer,
  StaleAnswer,
  TemplateInput,
} from "./registry/server-json.js";
export { type McpbData, type UnpackedMcpb, VerifiedMcpb, verifyMcpb } from "./registry/start-command.js";
export {
  type ServerConfigResult,
  type ServerSource,
  type SourcePreference,
  type ToServerConfigOptions,
  toServerConfig,
} from "./registry/to-server-config.js";
export type { SchemaValidatorFactory } from "./schema/create-validator.js";
export { type RepairedArguments, repairArguments } from "./schema/create-validator.js";
export { deriveSchema } from "./schema/derive/derive-schema.js";
export type {
  DerivedSchema,
  SchemaChange,
  SchemaChangeKind,
  SchemaTarget,
} from "./schema/derive/derived-schema.js";
export type { Parameter, ParameterType } from "./schema/parameters.js";
export { fromParameters, toParameters } from "./schema/parameters.js";
export type { ArgumentRepair, ValidationIssue } from "./schema/schema-validator.js";
export { memoryStore } from "./state/memory-store.js";
export type { DurabilityRisk, Lease, PutOptions, Store, StoredRecord } from "./state/store.js";
export type { Logger } from "./telemetry/logger.js";
export type { ConnectOptions, Toolport, ToolsOptions } from "./toolport.js";
export { createLinkedTransports } from "./transports/memory/linked-transports.js";
