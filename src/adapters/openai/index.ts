/** The entry point `toolport/openai`: tools, calls and prompts in the format of OpenAI's APIs, without its package. */
export type { AllowedCallers, DeferredOptions, DeferredTools } from "../offered-tools.js";
export type * from "../provider-types.js";
export {
  type OpenAIApi,
  type OpenAIChatPart,
  type OpenAIChatText,
  type OpenAIContentOptions,
  type OpenAIMessagesOptions,
  type OpenAIPromptMessage,
  type OpenAIResponsesPart,
  toOpenAIContent,
  toOpenAIMessages,
} from "./content.js";
export {
  type OpenAICallerItem,
  type OpenAIChatAnswer,
  type OpenAIFunctionCallOutput,
  type OpenAIResponsesAnswer,
  type OpenAIResponsesItem,
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
