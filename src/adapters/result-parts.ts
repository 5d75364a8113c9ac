/** Converts whole results and prompts to parts for a model. */
import { type ContentPart, toContentPart, toContentParts } from "../content/content-part.js";
import type { ContentBlock } from "../execution/tool-result.js";
import type { PromptResult } from "../port/get-prompt.js";
import { parseJson } from "../util/json.js";
import {
  type AudienceRule,
  type ContentOptions,
  noteOrThrow,
  type PartFormat,
  textOf,
} from "./content-options.js";

/** The input: a `ToolResult`, or the result of `tools/call` as the MCP SDK returns it. */
export interface ResultContent {
  readonly content?: readonly unknown[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  /** For error messages. */
  readonly server?: string | undefined;
}

/** Providers reject empty texts, and a model should know that the result is empty. */
const NOTHING = { false: "[no output]", true: "The tool failed without a message" };
const FOR_USER = {
  false: "[the result is for the user only]",
  true: "The tool failed; its message is for the user only",
};

/** Never empty, and without blank texts. */
export function resultParts(
  { content = [], structuredContent, isError = false }: ResultContent,
  audience: AudienceRule = "respect",
): ContentPart[] {
  const all = toContentParts(content).filter((part) => part.kind !== "text" || part.text.trim() !== "");
  const parts = all.filter((part) => isMeantForModel(part, audience));
  if (structuredContent !== undefined && !parts.some((part) => says(part, structuredContent)))
    parts.push(textPart(JSON.stringify(structuredContent)));
  if (parts.length > 0) return parts;
  return [textPart((all.length > 0 ? FOR_USER : NOTHING)[`${isError}`])];
}

/** The same for APIs without a field for failure: a failure begins with `Error:`. */
export function markedParts(result: ResultContent, audience?: AudienceRule): ContentPart[] {
  const parts = resultParts(result, audience);
  return result.isError === true ? [textPart("Error:"), ...parts] : parts;
}

/** Whether a model may see it. */
export const isMeantForModel = (part: ContentPart, audience: AudienceRule = "respect"): boolean =>
  audience === "ignore" || !part.userOnly;

/** Replaces a result that is for the user only. */
export const forUserNote = (isError: boolean): string => FOR_USER[`${isError}`];

export const textPart = (text: string): ContentPart => ({
  kind: "text",
  text,
  source: { type: "text", text },
  userOnly: false,
});

/** The specification asks servers to repeat structured content as JSON text; sending it twice would waste tokens. */
const says = (part: ContentPart, value: unknown): boolean =>
  part.kind === "text" && isSame(parseJson(part.text), value);

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key as never], other[key as never]))
  );
}

interface PromptTurn<Part> {
  readonly role: "user" | "assistant";
  readonly parts: Part[];
  /** The whole text, if the message contains only text. */
  readonly text: string | undefined;
}

/** For every provider, messages of the assistant must be text. */
export function promptTurns<Part>(
  { server, messages }: PromptResult,
  format: PartFormat<Part>,
  { strictContent = true, onLeftOut }: ContentOptions,
): PromptTurn<Part>[] {
  const place = { provider: format.provider, strict: strictContent, server, onLeftOut };
  return messages.map(({ role, content }) => {
    const blocks: readonly ContentBlock[] = Array.isArray(content) ? content : [content];
    const texts: string[] = [];
    const parts = blocks.map(toContentPart).map((part) => {
      const file = role === "user" && textOf(part) === undefined ? format.file(part) : undefined;
      if (file !== undefined) return file;
      const text = textOf(part) ?? noteOrThrow(part, place);
      texts.push(text);
      return format.text(text);
    });
    return { role, parts, text: texts.length === parts.length ? texts.join("\n") : undefined };
  });
}

type PromptMessage<Part> =
  | { role: "user"; content: string | Part[] }
  | { role: "assistant"; content: string };

/** For APIs whose messages are a text or a list of parts. */
export const promptMessages = <Part>(
  prompt: PromptResult,
  format: PartFormat<Part>,
  options: ContentOptions,
): PromptMessage<Part>[] =>
  promptTurns(prompt, format, options).map(({ role, parts, text }) =>
    role === "assistant" ? { role, content: text ?? "" } : { role, content: text ?? parts },
  );
