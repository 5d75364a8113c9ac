/** Runs the calls that a Gemini model requested, and returns the content to append to the conversation. */
import { partNote } from "@toolport/core/internal";
import { type ContentOptions, noteOrThrow, textOf } from "../model-content.js";
import {
  type CallOutcome,
  type OfferedForms,
  type RequestedCall,
  type ResumeAnswers,
  type ResumedRun,
  type ResumeRunOptions,
  type RunFormat,
  type RunToolCallsOptions,
  resumeRun,
  runAndFormat,
  type SuspendedRun,
  type WithSuspend,
} from "../run-calls.js";
import type { ToolSource } from "../tool-source.js";
import {
  type GeminiInlineData,
  type GeminiTextPart,
  PROVIDER_NAME,
  toMessageData,
  toResponseData,
} from "./content.js";
import type { GeminiTool } from "./to-tools.js";

interface GeminiFunctionCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly args?: Readonly<Record<string, unknown>> | undefined;
}

interface GeminiAnswerContent {
  readonly parts?: readonly { readonly functionCall?: GeminiFunctionCall | undefined }[] | undefined;
}

/** A response of the API (the first candidate counts), or one content of it. */
export type GeminiAnswer =
  | { readonly candidates?: readonly { readonly content?: GeminiAnswerContent | undefined }[] | undefined }
  | GeminiAnswerContent;

export interface GeminiFunctionResponse {
  functionResponse: {
    id?: string;
    name: string;
    response: { output: string } | { error: string };
    parts?: GeminiInlineData[];
  };
}

/** The content with the results of all calls of the previous content. */
export interface GeminiResponseContent {
  role: "user";
  parts: (GeminiFunctionResponse | GeminiTextPart | GeminiInlineData)[];
}

/** Options of `runGeminiToolCalls()`. */
export interface GeminiRunOptions extends RunToolCallsOptions {
  /**
   * Where images and PDF files of a result are sent: inside the function response (`"response"`, since Gemini 3),
   * beside it in the same content (`"content"`, for older models), or replaced by a note (`"note"`).
   * Audio and video, which a response must not contain, are sent beside it unless this is `"note"`.
   * @default "response"
   */
  readonly media?: "response" | "content" | "note" | undefined;
  /** The option `schema` of the tools, if `tools` is left out. @default none: the schema of the server */
  readonly schema?: "json" | "openapi" | undefined;
}

/**
 * Runs every `functionCall` of a response in parallel. One content contains all results, in the order of the calls; an
 * unknown tool, bad arguments or an unreachable server are reported to the model. An empty list: the model requested no calls.
 * With `suspend`, calls that wait for a person are in `pending`. Pass the `tools` of the request: they show how to read the arguments.
 */
export function runGeminiToolCalls(
  toolport: ToolSource,
  answer: GeminiAnswer,
  options?: GeminiRunOptions,
): Promise<GeminiResponseContent[]>;
export function runGeminiToolCalls(
  toolport: ToolSource,
  answer: GeminiAnswer,
  options: WithSuspend<GeminiRunOptions>,
): Promise<SuspendedRun<GeminiResponseContent>>;
export async function runGeminiToolCalls(
  toolport: ToolSource,
  answer: GeminiAnswer,
  options: GeminiRunOptions | WithSuspend<GeminiRunOptions> = {},
): Promise<GeminiResponseContent[] | SuspendedRun<GeminiResponseContent>> {
  const { schema, tools } = options;
  const offered = tools && offeredForms(tools);
  const otherForm = schema === undefined ? undefined : (`gemini-${schema}` as const);
  const run = { ...options, offered, otherForm };
  return runAndFormat(toolport, requestedCalls(answer), run, formatOf(options));
}

type GeminiContentRules = Pick<GeminiRunOptions, "media" | keyof ContentOptions>;

/** How results are converted, and the options of `resume()`. */
export type GeminiResumeOptions = ResumeRunOptions<GeminiContentRules>;

/**
 * Continues the waiting calls of a run that have an answer. Their results are inserted at the place of their calls. When `pending` is empty,
 * append `messages` to the conversation.
 *
 * @param answers what the user decided, by the token of the call
 * @example
 * ```ts
 * let run = await runGeminiToolCalls(toolport, response, { tools, suspend: true });
 * while (run.pending.length > 0) run = await resumeGeminiToolCalls(toolport, run, await askUser(run.pending), { tools });
 * contents.push(...run.messages);
 * ```
 */
export function resumeGeminiToolCalls(
  toolport: ToolSource,
  run: SuspendedRun<GeminiResponseContent>,
  answers: ResumeAnswers,
  options: GeminiResumeOptions = {},
): Promise<ResumedRun<GeminiResponseContent>> {
  const format = formatOf({ ...options, strictContent: false });
  const offered = options.tools && offeredForms(options.tools);
  return resumeRun(toolport, run, { answers, options, offered, format });
}

/** The form of the schema of every function in the list of a request, by name. */
const offeredForms = (tools: readonly Partial<GeminiTool>[]): OfferedForms =>
  new Map(
    tools
      .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
      .map(({ name, parametersJsonSchema }) => [
        name,
        parametersJsonSchema === undefined ? "gemini-openapi" : "gemini-json",
      ]),
  );

type Part = GeminiResponseContent["parts"][number];

const formatOf = (
  options: GeminiContentRules,
): RunFormat<GeminiResponseContent, GeminiFunctionResponse, Part> => ({
  convert: (answer) => toResponse(answer, options),
  join: (results, beside) => (results.length === 0 ? [] : [{ role: "user", parts: [...results, ...beside] }]),
  split(messages) {
    const all = messages.flatMap(({ parts }) => parts);
    return { results: all.filter(isResponse), beside: all.filter((part) => !isResponse(part)) };
  },
});

const isResponse = (part: Part): part is GeminiFunctionResponse => "functionResponse" in part;

function requestedCalls(answer: GeminiAnswer): RequestedCall[] {
  const content = "candidates" in answer ? answer.candidates?.[0]?.content : (answer as GeminiAnswerContent);
  return (content?.parts ?? []).flatMap(({ functionCall }) =>
    functionCall?.name === undefined
      ? []
      : [{ id: functionCall.id, name: functionCall.name, args: functionCall.args }],
  );
}

function toResponse(
  { call, parts, isError, server, tool }: CallOutcome,
  { strictContent = false, media = "response", onLeftOut }: GeminiContentRules,
): { result: GeminiFunctionResponse; beside: GeminiResponseContent["parts"] } {
  const place = { provider: PROVIDER_NAME, strict: strictContent, server, tool, onLeftOut };
  const inside: GeminiInlineData[] = [];
  const beside: GeminiInlineData[] = [];
  const texts = parts.map((part) => {
    const data = media === "response" ? toResponseData(part) : undefined;
    if (data !== undefined) {
      inside.push(data);
      return partNote(part);
    }
    const file = media === "note" ? undefined : toMessageData(part);
    if (file === undefined) return textOf(part) ?? noteOrThrow(part, place);
    beside.push(file);
    return `${partNote(part)} (after the responses)`;
  });
  const text = texts.join("\n");
  return {
    result: {
      functionResponse: {
        ...(call.id !== undefined && { id: call.id }),
        name: call.name,
        response: isError ? { error: text } : { output: text },
        ...(inside.length > 0 && { parts: inside }),
      },
    },
    beside: beside.length === 0 ? [] : [{ text: `What ${call.name} answered:` }, ...beside],
  };
}
