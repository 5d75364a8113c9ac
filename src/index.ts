/** The public door: named exports only. */
export type { ToolInfo, WithheldTool } from "./catalog/tool-info.js";
export type { JsonSchema, ListedTool, ServerRef, ToolAnnotations, ToolFilter } from "./config/listed-tool.js";
export type {
  CommonServerEntry,
  CustomServerEntry,
  DockerServerEntry,
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
export type { ToolportEvents } from "./events.js";
export type {
  CallAttempt,
  CallHandler,
  CallInterceptor,
  CallToolOptions,
  ToolCall,
} from "./execution/tool-call.js";
export type { ContentBlock, ToolResult } from "./execution/tool-result.js";
export type { ServerErrorPolicy, ToolportOptions } from "./options.js";
export type { Era } from "./protocol/era.js";
export type { Progress } from "./protocol/pending-request.js";
export type { ConnectReport, ServerReport } from "./report.js";
export type { ServerSnapshot, ToolportSnapshot } from "./snapshot.js";
export { memoryStore } from "./state/memory-store.js";
export type { PutOptions, Store, StoredRecord } from "./state/store.js";
export type { Logger } from "./telemetry/logger.js";
export { createToolport, type Toolport } from "./toolport.js";
export { createLinkedTransports } from "./transports/memory/linked-transports.js";
