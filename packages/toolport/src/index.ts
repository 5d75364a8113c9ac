/** The main entry point `toolport`: all public names of the client, and those of its parts that programs need. */

export {
  AuthError,
  CatalogError,
  ConfigError,
  ConnectionError,
  classifyError,
  type ErrorClassification,
  isTransportNotImplemented,
  isUnauthorized,
  type ListedTool,
  type Logger,
  type Outcome,
  type PromptInfo,
  type ResourceContents,
  type ResourceInfo,
  type ResourceTemplateInfo,
  type ServerRef,
  StateError,
  SuspensionError,
  shouldRetry,
  ToolCallError,
  type ToolFilter,
  type ToolInfo,
  ToolportError,
} from "@toolport/base";
export * from "@toolport/core";
export type { SchemaValidatorFactory } from "@toolport/schemas/internal";
export { type Lease, memoryStore, type PutOptions, type Store, type StoredRecord } from "@toolport/stores";
