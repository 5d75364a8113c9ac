/** `toolport/langchain`: MCP tools in LangChain.js and LangGraph.js; a drop-in for `@langchain/mcp-adapters`. */

export type { ContentPart } from "../../content/content-part.js";
export type { CompactOption, CompactOptions } from "../../schema/derive/compact-schema.js";
export type { ForModelOption, ForModelOptions, WithForModel } from "../for-model.js";
export type { AudienceRule, LeftOutContent, ResultContent } from "../model-content.js";
export type { AllowedCallers } from "../offered-tools.js";
export type { ToolSource } from "../tool-source.js";
export type * from "./client-config.js";
export type { OutputHandling, OutputTarget, OutputType } from "./content.js";
export {
  type LangChainContentOptions,
  type MetaArtifact,
  type StructuredContentArtifact,
  type ToLangChainMessagesOptions,
  type ToolArtifact,
  type ToolOutput,
  toLangChainContent,
  toLangChainMessages,
} from "./content.js";
export { MCPClientError, ToolException, type ToolExceptionDetails, type ZodIssue } from "./errors.js";
export {
  createResume,
  type GraphInterrupt,
  type InterruptAnswers,
  type InterruptedCall,
  type InterruptProblem,
  type InterruptValue,
  isToolportInterrupt,
} from "./interrupts.js";
export { loadMcpTools, type McpClientLike } from "./load-mcp-tools.js";
export { MultiServerMCPClient } from "./multi-server-mcp-client.js";
export { type ToLangChainToolsOptions, toLangChainTools } from "./to-tools.js";
