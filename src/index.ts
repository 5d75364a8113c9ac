/** The public door: named exports only. */
export type { NameIssue, NameIssueKind } from "./catalog/assign-names.js";
export type { CatalogExport, ExportedServer } from "./catalog/exported-catalog.js";
export type { FilterInput } from "./catalog/filter-set.js";
export type { ToolFilters } from "./catalog/filters.js";
export type { ModelString } from "./catalog/model-strings.js";
export type { ChangedTool, PinMode } from "./catalog/pins.js";
export type { PromptInfo, ResourceInfo, ResourceTemplateInfo } from "./catalog/resource-info.js";
export type { ScanHook } from "./catalog/scan.js";
export type { ToolInfo, WithheldTool } from "./catalog/tool-info.js";
export type { ToolNameMapper, ToolSpecificationMapper } from "./catalog/tool-mapping.js";
export { McpToolMetadataKeys, toolMetadata } from "./catalog/tool-metadata.js";
export type { JsonSchema, ListedTool, ServerRef, ToolAnnotations, ToolFilter } from "./config/listed-tool.js";
export type {
  CacheOption,
  CommonServerEntry,
  CustomServerEntry,
  DockerServerEntry,
  FallbackOption,
  HeadersOption,
  HttpServerEntry,
  ProtocolChoice,
  ReconnectOptions,
  ServerEntry,
  StdioServerEntry,
  WebSocketServerEntry,
} from "./config/server-entry.js";
export type { ConnectionStatus, StateChange } from "./connection/connection-state.js";
export type { WaitOptions } from "./connection/server-connection.js";
export { AuthError, type AuthErrorCode } from "./errors/auth-error.js";
export { CatalogError, type CatalogErrorCode } from "./errors/catalog-error.js";
export { classifyError, type ErrorClassification, type ErrorType } from "./errors/classify-error.js";
export { ConfigError, type ConfigErrorCode, type ConfigIssue } from "./errors/config-error.js";
export {
  ConnectionError,
  type ConnectionErrorCode,
  type ConnectionErrorDetails,
} from "./errors/connection-error.js";
export { isTransportNotImplemented } from "./errors/is-transport-not-implemented.js";
export { isUnauthorized } from "./errors/is-unauthorized.js";
export { shouldRetry } from "./errors/should-retry.js";
export { StateError, type StateErrorCode } from "./errors/state-error.js";
export {
  ToolCallError,
  type ToolCallErrorCode,
  type ToolCallErrorDetails,
} from "./errors/tool-call-error.js";
export { type Outcome, ToolportError, type ToolportErrorInit } from "./errors/toolport-error.js";
export type { ServerNotification, ToolportEvents } from "./events.js";
export type { ApprovalRequest, ApproveFunction, ApproveOption } from "./execution/approve.js";
export type { BreakerOptions, BreakerSnapshot } from "./execution/breaker.js";
export { type CacheResultsOptions, cacheResults } from "./execution/cache-results.js";
export type { BeforeFallback, FallbackRequest } from "./execution/fallback.js";
export type { CallEndEvent, CallEvent, CallListener } from "./execution/listeners.js";
export type { ResultArtifact } from "./execution/result-artifact.js";
export {
  type ResultSizeOption,
  type ResultSizeOptions,
  TRUNCATED_META_KEY,
  type Truncation,
} from "./execution/result-size.js";
export type { RetryOptions } from "./execution/retry.js";
export type {
  CallAttempt,
  CallHandler,
  CallInterceptor,
  CallToolOptions,
  ToolCall,
} from "./execution/tool-call.js";
export type { ContentBlock, ToolResult } from "./execution/tool-result.js";
export type { PromptResult } from "./get-prompt.js";
export type { DeferToolsOption, ServerErrorPolicy, ToolportOptions } from "./options.js";
export type { PrincipalOptions } from "./principal.js";
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
export type { RequestOrigin } from "./protocol/server-requests/request-origin.js";
export type { Root, RootsOption } from "./protocol/server-requests/roots.js";
export type {
  SamplingAnswer,
  SamplingHandler,
  SamplingOption,
  SamplingRequest,
} from "./protocol/server-requests/sampling.js";
export type { ServerLogEntry, ServerLogListener } from "./protocol/server-requests/server-log.js";
export type { ServerRequestOptions } from "./protocol/server-requests/server-request-options.js";
export type { ResourceContents } from "./read-resource.js";
export type { ConnectReport, ServerReport } from "./report.js";
export type { SchemaValidatorFactory } from "./schema/create-validator.js";
export { deriveSchema } from "./schema/derive/derive-schema.js";
export type {
  DerivedSchema,
  SchemaChange,
  SchemaChangeKind,
  SchemaTarget,
} from "./schema/derive/derived-schema.js";
export { fromParameters } from "./schema/parameters/from-parameters.js";
export type { Parameter, ParameterType } from "./schema/parameters/parameter.js";
export { toParameters } from "./schema/parameters/to-parameters.js";
export type { ValidationIssue } from "./schema/validation-issue.js";
export type { ServerSnapshot, ToolportSnapshot } from "./snapshot.js";
export { memoryStore } from "./state/memory-store.js";
export type { PutOptions, Store, StoredRecord } from "./state/store.js";
export type { Logger } from "./telemetry/logger.js";
export {
  type AccessOptions,
  type ConnectOptions,
  createToolport,
  type Toolport,
  type ToolsOptions,
} from "./toolport.js";
export { createLinkedTransports } from "./transports/memory/linked-transports.js";
