/** What a tool answered. */
import type { ContentBlock, OtherContent } from "../content/content-block.js";
import { MALFORMED_TYPE, toContentPart } from "../content/content-part.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ArgumentRepair } from "../schema/argument-repair.js";
import { isNestedDeeper } from "../util/json.js";

export type { ContentBlock };

/** The answer to one call. A tool that reports failure answers too: look at `isError`. */
export interface ToolResult<Structured = unknown> {
  /** All text blocks, joined by line breaks. */
  readonly text: string;
  readonly content: readonly ContentBlock[];
  /** The answer as data, where the tool gives one. */
  readonly structuredContent?: Structured | undefined;
  /** The tool itself says that it failed. */
  readonly isError: boolean;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  /** Who really answered. */
  readonly server: string;
  /** How many times a server was asked; 0 if an interceptor such as `cacheResults` answered. */
  readonly attempts: number;
  /** From the call to the answer. */
  readonly durationMs: number;
  /**
   * What was changed about the arguments before they were sent, by `checkArguments: "repair"`; undefined: nothing. Paths and
   * kinds of change only, no values.
   */
  readonly repaired?: readonly ArgumentRepair[] | undefined;
  /** Parts that were too large to hand on; see `maxResultBytes`. */
  readonly artifacts?: readonly ResultArtifact[] | undefined;
  /** What is wrong with items of `content`; a model gets a note in place of each. @default undefined: nothing */
  readonly malformed?: MalformedContent | undefined;
}

/** Items of a result that break the protocol's rules. */
export interface MalformedContent {
  /** How many there are. */
  readonly count: number;
  /** The first 100 of them: the type that each claims (`content` if none), and what is wrong with it. */
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

/** Where a result says that it took answers of the user's: it is that user's own and must not be kept. */
export const INPUT_META_KEY = "toolport/input";

const isBlock = (value: unknown): value is ContentBlock =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";

/** Data of honest tools have a dozen. Whoever writes more of them as JSON overflows the stack in the end. */
const MAX_LEVELS = 500;

const objectOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;

/** A list in every case: some servers send one block without a list around it. */
function itemsOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return content === undefined || content === null ? [] : [content];
}

/** More than these of a kind are only counted: a million of them fit into one message. */
const MAX_MALFORMED = 100;

/** An item that is no block stays, as the `value` of a block that says so. */
function readBlocks(items: readonly unknown[]): ContentBlock[] {
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

/** Stands for items of the server that are no blocks. */
const malformedBlock = (fields: Readonly<Record<string, unknown>>): ContentBlock =>
  ({ type: MALFORMED_TYPE, ...fields }) as unknown as OtherContent;

/** Reads the result of `tools/call`. */
export function toToolResult<Structured>(
  raw: Record<string, unknown>,
  server: string,
): ToolResult<Structured> {
  if (isNestedDeeper(raw, MAX_LEVELS)) throw tooDeep(server);
  const content = readBlocks(itemsOf(raw["content"]));
  const malformed = malformedIn(content);
  return {
    text: textOf(content),
    content,
    structuredContent: raw["structuredContent"] as Structured | undefined,
    isError: raw["isError"] === true,
    _meta: objectOf(raw["_meta"]),
    server,
    // Known when the whole call is over; the pipeline fills them in.
    attempts: 1,
    durationMs: 0,
    ...(malformed !== undefined && { malformed }),
  };
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
    next: "Report this to the maker of the server",
  });
}
