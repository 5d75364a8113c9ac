/** Results, calls that wait and prompts in the format of the AI SDK. Its three versions have three formats for files. */
import type { ContentPart } from "../../content/content-part.js";
import { ConfigError } from "../../errors/toolport-error.js";
import { isSuspended, type Suspended } from "../../execution/suspend/suspension.js";
import type { PromptResult } from "../../port/get-prompt.js";
import { sha256 } from "../../util/text.js";
import {
  type AudienceRule,
  type ContentOptions,
  type ContentPlace,
  type FilePart,
  fileOf,
  isSupportedSomewhere,
  leaveOut,
  mapParts,
  promptMessages,
  type ResultContent,
  resultParts,
} from "../model-content.js";

/** Major versions of `ai` that are known. */
export type AiSdkVersion = 5 | 6 | 7;

const PROVIDER_NAME = "The AI SDK";

export type AiSdkOutputPart =
  | { type: "text"; text: string }
  | { type: "media"; data: string; mediaType: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename: string }
  | { type: "file"; data: { type: "data"; data: string }; mediaType: string; filename: string };

/** The output of a tool that the model receives. */
export type AiSdkModelOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "content"; value: AiSdkOutputPart[] };

interface ModelOutputOptions {
  readonly version: AiSdkVersion;
  /** Files become notes. */
  readonly notes: boolean;
  readonly audience?: AudienceRule | undefined;
  /** @default everything fits */
  readonly fitParts?: ((parts: readonly ContentPart[]) => readonly ContentPart[]) | undefined;
}

export const modelOutputOptions = (
  { media, audience }: { media?: "content" | "note" | undefined; audience?: AudienceRule | undefined },
  version: AiSdkVersion,
): ModelOutputOptions => ({ version, notes: media === "note", audience });

/** Detects the version by its exports: the package exports no version number. */
export const versionOf = (ai: object): AiSdkVersion =>
  "isStepCount" in ai ? 7 : "ToolLoopAgent" in ai ? 6 : 5;

/** `place`: where parts that are left out are reported; without it nothing throws. */
export function toModelOutput(
  result: ResultContent,
  { version, notes, audience, fitParts = (parts) => parts }: ModelOutputOptions,
  place: Omit<ContentPlace, "provider"> = { strict: false },
): AiSdkModelOutput {
  const isError = result.isError === true;
  const values = mapParts<AiSdkOutputPart>(
    fitParts(resultParts(result, audience)),
    {
      provider: PROVIDER_NAME,
      text: (text) => ({ type: "text", text }),
      file: (part) => {
        const file = notes ? undefined : fileForModel(part);
        if (file === undefined) return undefined;
        // An error is text in every version.
        const note = () => leaveOut(part, { provider: PROVIDER_NAME, ...place });
        return isError ? { type: "text", text: note() } : toOutputPart(file, version);
      },
    },
    place,
  );
  const texts = values.map((value) => (value.type === "text" ? value.text : undefined));
  if (!texts.every((text) => text !== undefined)) return { type: "content", value: values };
  return { type: isError ? "error-text" : "text", value: texts.join("\n") };
}

/** The provider behind the AI SDK is unknown here; an image that no provider supports is left out. */
function fileForModel(part: ContentPart): FilePart | undefined {
  const file = fileOf(part);
  return file !== undefined && isSupportedSomewhere(file) ? file : undefined;
}

function toOutputPart(
  { data, mimeType: mediaType, filename }: FilePart,
  version: AiSdkVersion,
): AiSdkOutputPart {
  if (version === 5) return { type: "media", data, mediaType };
  if (version === 7) return { type: "file", data: { type: "data", data }, mediaType, filename };
  return mediaType.startsWith("image/")
    ? { type: "image-data", data, mediaType }
    : { type: "file-data", data, mediaType, filename };
}

/** Options of `toAiSdkContent()`. */
export interface AiSdkContentOptions extends ContentOptions {
  /** Major version of `ai` that receives the content: each one represents files differently. @default 6 */
  readonly version?: AiSdkVersion | undefined;
  /** Images, audio and files: sent to the model (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()`: for `output` of a `tool-result`
 * part, and for `toModelOutput` of your own tool.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("files__read_image", { path: "a.png" });
 * const part = { type: "tool-result", toolCallId, toolName, output: toAiSdkContent(result) };
 * ```
 */
export function toAiSdkContent(
  result: ResultContent,
  { version = 6, media, audience, strictContent = false, onLeftOut }: AiSdkContentOptions = {},
): AiSdkModelOutput {
  const place = { strict: strictContent, server: result.server, onLeftOut };
  return toModelOutput(result, modelOutputOptions({ media, audience }, version), place);
}

export type AiSdkPromptPart =
  | { type: "text"; text: string }
  | { type: "file"; data: string; mediaType: string; filename: string };

/** A message of a prompt, as the AI SDK takes it. */
export type AiSdkPromptMessage =
  | { role: "user"; content: string | AiSdkPromptPart[] }
  | { role: "assistant"; content: string };

/**
 * Converts a prompt, for `messages` of `generateText` and similar functions. The same for every version.
 *
 * @example
 * ```ts
 * const messages = toAiSdkMessages(await toolport.getPrompt("docs", "review", { file: "a.ts" }));
 * ```
 */
export function toAiSdkMessages(prompt: PromptResult, options: ContentOptions = {}): AiSdkPromptMessage[] {
  const format = {
    provider: PROVIDER_NAME,
    text: (text: string): AiSdkPromptPart => ({ type: "text", text }),
    file: (part: ContentPart): AiSdkPromptPart | undefined => {
      const file = fileForModel(part);
      return file && { type: "file", data: file.data, mediaType: file.mimeType, filename: file.filename };
    },
  };
  return promptMessages(prompt, format, options);
}

/** No provider reads this name in `providerOptions`, so neither it nor its content reaches a model. */
const OWN_OPTIONS = "toolport";

/** The output that stands in the messages until the call is over. */
export interface AiSdkSuspendedOutput {
  type: "text";
  value: string;
  providerOptions: {
    [OWN_OPTIONS]: {
      /** Identifies the call. Derived from its token, which cannot be computed from it. */
      suspended: string;
    };
  };
}

const WAITS_FOR = {
  input: "the answer of the user to a question of the tool",
  approval: "the approval of the user",
  login: "the user to log in",
} as const satisfies Record<Suspended["reason"], string>;

/** What the model reads. It contains no token and none of the questions. */
export async function toSuspendedOutput({ reason, token }: Suspended): Promise<AiSdkSuspendedOutput> {
  return {
    type: "text",
    value: `The call is not finished: it waits for ${WAITS_FOR[reason]}. The result will follow. Do not call the tool again for this.`,
    providerOptions: { [OWN_OPTIONS]: { suspended: await markOf(token) } },
  };
}

/** Another hash than the one under which the store keeps the call. */
export const markOf = (token: string): Promise<string> => sha256(`toolport message ${token}`);

/** The mark of a waiting call in the output of a model message; undefined for other outputs. */
export function suspendedMark(output: unknown): string | undefined {
  const { providerOptions } = (output ?? {}) as Partial<AiSdkSuspendedOutput>;
  const mark = providerOptions?.[OWN_OPTIONS]?.suspended;
  return typeof mark === "string" ? mark : undefined;
}

/** The steps of a run, as `stopWhen` gets them in every version. */
interface RunSteps {
  readonly steps: readonly { readonly toolResults: readonly { readonly output: unknown }[] }[];
}

/**
 * A condition for `stopWhen`: ends the run after a step in which a call began to wait for a person.
 *
 * @example
 * ```ts
 * const { toolResults, response } = await generateText({
 *   model,
 *   tools: await toAiSdkTools(toolport, { suspend: true }),
 *   stopWhen: [hasSuspended(), stepCountIs(10)],
 *   prompt: "Book a flight to Oslo",
 * });
 * ```
 */
export const hasSuspended =
  () =>
  ({ steps }: RunSteps): boolean =>
    steps.at(-1)?.toolResults.some(({ output }) => isSuspended(output)) ?? false;

/**
 * Inside `try`, because esbuild (and so wrangler) does not bundle an import that it cannot resolve unless the failure is handled.
 *
 * @throws ConfigError if the package is not installed
 */
export async function loadAi(): Promise<typeof import("ai")> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The package `ai`, which the tools require, cannot be loaded",
      next: "Install it: npm install ai",
      cause,
    });
  }
}
