/** Runs the calls that a Gemini model requested, and returns the content to append to the conversation. */
import { partNote } from "../../content/part-note.js";
import type { Toolport } from "../../toolport.js";
import { noteOrThrow, textOf } from "../content-options.js";
import { type CallOutcome, type RequestedCall, type RunToolCallsOptions, runCalls } from "../run-calls.js";
import {
  type GeminiInlineData,
  type GeminiTextPart,
  PROVIDER_NAME,
  toMessageData,
  toResponseData,
} from "./content.js";

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

export interface GeminiRunOptions extends RunToolCallsOptions {
  /**
   * Where images and PDF files of a result are sent: inside the function response (`"response"`, since Gemini 3),
   * beside it in the same content (`"content"`, for older models), or replaced by a note (`"note"`).
   * Audio and video, which a response must not contain, are sent beside it unless this is `"note"`.
   * @default "response"
   */
  readonly media?: "response" | "content" | "note" | undefined;
  /** The option `schema` of the tools. @default its last value in this process */
  readonly schema?: "json" | "openapi" | undefined;
}

const GEMINI_TARGETS = ["gemini-json", "gemini-openapi"] as const;

/**
 * Runs every `functionCall` of a response in parallel. One content contains all results, in the order of the calls; an
 * unknown tool, bad arguments or an unreachable server are reported to the model. An empty list: the model requested no calls.
 */
export async function runGeminiToolCalls(
  toolport: Toolport,
  answer: GeminiAnswer,
  options: GeminiRunOptions = {},
): Promise<GeminiResponseContent[]> {
  const { schema } = options;
  const targets = schema === undefined ? GEMINI_TARGETS : [`gemini-${schema}` as const];
  const answers = await runCalls(toolport, requestedCalls(answer), { ...options, targets });
  if (answers.length === 0) return [];
  const responses = answers.map((each) => toResponse(each, options));
  return [
    {
      role: "user",
      parts: [...responses.map(({ response }) => response), ...responses.flatMap(({ beside }) => beside)],
    },
  ];
}

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
  { strictContent = false, media = "response", onLeftOut }: GeminiRunOptions,
): { response: GeminiFunctionResponse; beside: GeminiResponseContent["parts"] } {
  const place = { provider: PROVIDER_NAME, strict: strictContent, server, tool, onLeftOut };
  const inside: GeminiInlineData[] = [];
  const beside: GeminiInlineData[] = [];
  const texts = parts.map((part) => {
    const held = media === "response" ? toResponseData(part) : undefined;
    if (held !== undefined) {
      inside.push(held);
      return partNote(part);
    }
    const shown = media === "note" ? undefined : toMessageData(part);
    if (shown === undefined) return textOf(part) ?? noteOrThrow(part, place);
    beside.push(shown);
    return `${partNote(part)} (after the responses)`;
  });
  const text = texts.join("\n");
  return {
    response: {
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
