/** The entry point `toolport/openai`: tools, calls and prompts in the format of OpenAI's APIs, without its package. */
export type { ResumeAnswers, ResumedRun, SuspendedRun } from "../run-calls.js";
export {
  type OpenAIChatPart,
  type OpenAIContentOptions,
  type OpenAIMessagesOptions,
  type OpenAIPromptMessage,
  type OpenAIResponsesPart,
  toOpenAIContent,
  toOpenAIMessages,
} from "./content.js";
export {
  type OpenAIChatAnswer,
  type OpenAIFunctionCallOutput,
  type OpenAIResponsesAnswer,
  type OpenAIResponsesOutput,
  type OpenAIResumeOptions,
  type OpenAIRunOptions,
  type OpenAIToolMessage,
  resumeOpenAIToolCalls,
  runOpenAIToolCalls,
} from "./run-tool-calls.js";
export {
  type OpenAIChatTool,
  type OpenAIDeferredTool,
  type OpenAIResponsesTool,
  type OpenAIToolsOptions,
  toOpenAITools,
} from "./to-tools.js";
