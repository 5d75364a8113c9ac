/** The result of a tool call. */

import { isNestedDeeper, ToolCallError, toRecord } from "@toolport/base";
import type { ArgumentRepair } from "@toolport/schemas";
import type { ContentBlock, OtherContent } from "../content/content-block.js";
import { MALFORMED_TYPE, toContentPart } from "../content/content-part.js";

export type { ContentBlock };

/** The result of one call. Check `isError`: a tool that fails returns a result too. */
export interface ToolResult<Structured = unknown> {
  /** All text blocks, joined by line breaks. */
  readonly text: string;
  readonly content: readonly ContentBlock[];
  /** Structured content, if the tool returns any. */
  readonly structuredContent?: Structured | undefined;
  /** The tool reports that it failed. */
  readonly isError: boolean;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  /** The server that answered; after a fallback, another one than that of the tool. */
  readonly server: string;
  /** Number of requests that were sent; 0 if an interceptor such as `cacheResults` answered. */
  readonly attempts: number;
  /** Duration of the whole call. */
  readonly durationMs: number;
  /**
   * How `checkArguments: "repair"` changed the arguments before they were sent; undefined if it did not. Contains paths and
   * kinds of change, no values.
   */
  readonly repaired?: readonly ArgumentRepair[] | undefined;
  /** Parts that exceeded `maxResultBytes`. */
  readonly artifacts?: readonly ResultArtifact[] | undefined;
  /** Malformed items of `content`; models receive a note in place of each. @default undefined: none */
  readonly malformed?: MalformedContent | undefined;
}

/** Items of a result that violate the protocol. */
export interface MalformedContent {
  /** Number of malformed items. */
  readonly count: number;
  /** The first 100 items: the declared type (`content` if there is none), and the problem. */
  readonly items: readonly { readonly type: string; readonly problem: string }[];
}

/** Structured content as a block. */
export type StructuredBlock = { readonly type: "structuredContent"; readonly structuredContent: unknown };

/** Handle of a part of a result that was too large; see `maxResultBytes`. */
export interface ResultArtifact {
  /** Unique id; the note in the result names it. */
  readonly id: string;
  /** Type of the block: `text`, `image`, `audio`, `resource`, or `structuredContent`. */
  readonly type: string;
  readonly mimeType?: string | undefined;
  /** Size as sent: UTF-8 for text, base64 for anything else. */
  readonly bytes: number;
  /** The whole block as the server sent it. */
  read(): Promise<ContentBlock | StructuredBlock>;
}

/** Key in `_meta` of a result that depends on input of the user and must not be cached. */
export const INPUT_META_KEY = "toolport/input";

const isBlock = (value: unknown): value is ContentBlock =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";

/** Real results have about a dozen levels. Serialising a much deeper one would overflow the stack. */
const MAX_LEVELS = 500;

/** Further items are only counted: one message can contain a million. */
const MAX_MALFORMED = 100;

/** Some servers send a single block instead of a list. An item that is not a block becomes the `value` of a block that marks it as malformed. */
function readBlocks(content: unknown): ContentBlock[] {
  const items = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content];
  const blocks: ContentBlock[] = [];
  let odd = 0;
  for (const item of items) {
    if (isBlock(item)) blocks.push(item);
    else if (++odd <= MAX_MALFORMED) blocks.push(malformedBlock({ value: item }));
  }
  const more = odd - MAX_MALFORMED;
  if (more > 0) blocks.push(malformedBlock({ more }));
  return blocks;
}

/** Replaces items that are not blocks. */
const malformedBlock = (fields: Readonly<Record<string, unknown>>): ContentBlock =>
  ({ type: MALFORMED_TYPE, ...fields }) as unknown as OtherContent;

/** Reads the result of `tools/call`. */
export function toToolResult<Structured>(
  raw: Record<string, unknown>,
  server: string,
): ToolResult<Structured> {
  if (isNestedDeeper(raw, MAX_LEVELS)) throw tooDeep(server);
  const given = raw["content"];
  // The list itself if it is well-formed, so that a caller can see that no step has changed it.
  const content: readonly ContentBlock[] =
    Array.isArray(given) && given.every(isBlock) ? given : readBlocks(given);
  const malformed = malformedIn(content);
  const result: ToolResult<Structured> = {
    text: textOf(content),
    content,
    structuredContent: raw["structuredContent"] as Structured | undefined,
    isError: raw["isError"] === true,
    _meta: toRecord(raw["_meta"]),
    server,
    // The pipeline sets both at the end of the call.
    attempts: 1,
    durationMs: 0,
  };
  return malformed === undefined ? result : { ...result, malformed };
}

function malformedIn(content: readonly ContentBlock[]): MalformedContent | undefined {
  const items: { type: string; problem: string }[] = [];
  let count = 0;
  for (const block of content) {
    // Fast path: most blocks are text.
    if (block.type === "text" && typeof block["text"] === "string") continue;
    const part = toContentPart(block);
    if (part.kind !== "malformed") continue;
    const { more } = block as OtherContent;
    count += typeof more === "number" ? more : 1;
    if (items.length < MAX_MALFORMED) items.push({ type: part.type, problem: part.problem });
  }
  return count === 0 ? undefined : { count, items };
}

/** All text blocks, joined by line breaks. */
export function textOf(content: readonly ContentBlock[]): string {
  let text: string | undefined;
  for (const block of content)
    if (block.type === "text" && typeof block["text"] === "string")
      text = text === undefined ? block["text"] : `${text}\n${block["text"]}`;
  return text ?? "";
}

function tooDeep(server: string): ToolCallError {
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    what: `The answer is nested deeper than ${MAX_LEVELS} levels`,
    next: "Report this to the author of the server",
  });
}
