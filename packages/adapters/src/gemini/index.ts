/** The entry point `toolport/gemini`: tools, calls and prompts in the format of Gemini's API, without its package. */
export type { ResumeAnswers, ResumedRun, SuspendedRun } from "../run-calls.js";
export {
  type GeminiContentOptions,
  type GeminiInlineData,
  type GeminiPromptContent,
  type GeminiTextPart,
  toGeminiContent,
  toGeminiMessages,
} from "./content.js";
export {
  type GeminiAnswer,
  type GeminiResponseContent,
  type GeminiResumeOptions,
  type GeminiRunOptions,
  resumeGeminiToolCalls,
  runGeminiToolCalls,
} from "./run-tool-calls.js";
export {
  type GeminiFunctionDeclaration,
  type GeminiTool,
  type GeminiToolsOptions,
  toGeminiTools,
} from "./to-tools.js";
