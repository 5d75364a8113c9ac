/** Makes the result of a tool fit into the context of a model: cuts what is too large, and keeps the rest where the model can read it. */

import {
  BoundedMap,
  ConfigIssues,
  compactText,
  debugChannel,
  EntryReader,
  limitByName,
  type OptionTable,
  outlineText,
  type Preview,
  parseJson,
  previewText,
  READ_ARTIFACT_NAME,
  readFunction,
  readNumbers,
  readObject,
  readSize,
  SIZE,
  SMALLEST_PREVIEW,
  type ToolInfo,
  tokenCeiling,
  utf8Length,
} from "@toolport/base";
import type { ContentPart, ToolResult } from "@toolport/core";
import { CALL_TOOL_NAME, compileFilter, partNote, portOf, readArtifactInfo } from "@toolport/core/internal";
import { textPart } from "./model-content.js";
import type { ToolSource } from "./tool-source.js";

/** How much of a result a model gets. */
export interface ForModelOptions {
  /**
   * Largest text of a result, in bytes. Of a larger one, the model gets the size, the shape, a short preview, and the id for the tool
   * `read_artifact`. Images, audio and files do not count.
   * @default 100000
   */
  readonly bytes?: number | undefined;
  /**
   * Other limits for some tools, by public name; `*` and `?` are wildcards. `Infinity`: no limit, for documents that the model has to see
   * whole.
   * @default none
   * @example
   * ```ts
   * { tools: { "docs__*": 500_000, files__read: Number.POSITIVE_INFINITY } }
   * ```
   */
  readonly tools?: Readonly<Record<string, number>> | undefined;
  /**
   * Writes a result for the model in another form, such as TOON or CSV. Its text replaces all texts of the result; undefined leaves them.
   * @default none
   * @example
   * ```ts
   * { format: ({ structuredContent }) => structuredContent && encode(structuredContent) }
   * ```
   */
  readonly format?: ((result: ToolResult) => string | undefined) | undefined;
}

/** `false`: models get every result whole. */
export type ForModelOption = ForModelOptions | false;

/** The option of all functions that give tools or results to a model. */
export interface WithForModel {
  /**
   * Limits the text of a result that the model gets. With it, the tool `read_artifact` is offered beside the others. What the program
   * gets is never cut. See docs/calls.md#results-for-models.
   * @default { bytes: 100_000 }
   * @example
   * ```ts
   * { forModel: { bytes: 20_000 } } // or false: no limit
   * ```
   */
  readonly forModel?: ForModelOption | undefined;
}

/** A call whose result is fitted. */
export interface FitFacts {
  /** The public name of the tool. */
  readonly tool: string;
  readonly server?: string | undefined;
  /** For the option `format`. */
  readonly result?: ToolResult | undefined;
}

/** Returns the same list if everything fits. */
export type PartFitter = (parts: readonly ContentPart[], facts: FitFacts) => readonly ContentPart[];

const DEFAULT_BYTES = 100_000;
/** Note and preview of a result whose rest can be read. */
const PREVIEW_BYTES = 1_500;
/** The same in tokens: dense text, such as base64, has more of them. */
const PREVIEW_TOKENS = 560;
/** Texts that stay beside a large one. */
const SMALL_BYTES = 500;
/** Indented JSON is at most about this many times as large as compact JSON; larger results are not parsed to find out. */
const MAX_SAVING = 4;

const debug = debugChannel("call");

/**
 * Adds `read_artifact` to the tools of a model. It is offered from the start, because a list that changes in the middle of a conversation
 * costs the cache of the provider.
 *
 * @throws ConfigError that names the wrong option
 */
export function withReader(
  toolport: ToolSource,
  tools: readonly ToolInfo[],
  { forModel, except }: WithForModel & { readonly except?: readonly string[] | undefined },
): readonly ToolInfo[] {
  readForModel(forModel);
  if (forModel === false || tools.length === 0 || hasReader(tools)) return tools;
  const isWanted = compileFilter({ except });
  const isExcluded = isWanted({ name: readArtifactInfo.server }, readArtifactInfo) !== undefined;
  return isExcluded || portOf(toolport)?.artifacts === undefined ? tools : [...tools, readArtifactInfo];
}

/** Whether a model can read what was cut. */
export const hasReader = (tools: readonly Pick<ToolInfo, "name">[]): boolean =>
  tools.some(({ name }) => name === READ_ARTIFACT_NAME);

/** The tool whose result a call returns: `call_tool` calls another one. */
export function calledTool(name: string, args: unknown): string {
  if (name !== CALL_TOOL_NAME) return name;
  const value = typeof args === "string" ? parseJson(args) : args;
  const called = (value as { name?: unknown } | null | undefined)?.name;
  return typeof called === "string" ? called : name;
}

/**
 * @param canRead the model is offered `read_artifact`
 * @throws ConfigError that names the wrong option
 */
export function createFitter(
  toolport: ToolSource,
  option: ForModelOption | undefined,
  canRead: boolean,
): PartFitter {
  const { bytes = DEFAULT_BYTES, tools, format } = readForModel(option);
  if (option === false) return (parts) => parts;
  const limitOf = limitByName(bytes, tools);
  const cuts: CutsByText = new BoundedMap(MAX_CUTS);
  return (all, facts) => {
    // Its answers are small enough.
    if (facts.tool === READ_ARTIFACT_NAME) return all;
    const parts = format === undefined ? all : formatted(all, format, facts.result);
    const limit = limitOf(facts.tool);
    // Fast check that is enough for most results.
    if (parts.reduce((total, part) => total + 3 * textIn(part).length, 0) <= limit) return parts;
    const artifacts = canRead ? portOf(toolport)?.artifacts : undefined;
    const { server, tool } = facts;
    return fitParts(parts, { limit, cuts, keep: (text) => artifacts?.keep(text, { server, tool }) });
  };
}

const FOR_MODEL_OPTIONS = {
  bytes: { read: readSize },
  tools: { read: readNumbers(SIZE) },
  format: { read: readFunction },
} as const satisfies OptionTable<ForModelOptions>;

function readForModel(option: unknown): ForModelOptions {
  if (option === undefined || option === false) return {};
  const issues = new ConfigIssues("options");
  const reader = new EntryReader({ forModel: option }, [], issues);
  const forModel = readObject<ForModelOptions>(FOR_MODEL_OPTIONS)(reader, "forModel");
  issues.throwIfAny();
  return forModel!;
}

function formatted(
  parts: readonly ContentPart[],
  format: NonNullable<ForModelOptions["format"]>,
  result: ToolResult | undefined,
): readonly ContentPart[] {
  if (result === undefined) return parts;
  try {
    const text = format(result);
    return typeof text === "string" ? [textPart(text), ...parts.filter((part) => !isText(part))] : parts;
  } catch (error) {
    // The result is there: without the form it is still worth more than an error.
    debug(`forModel.format threw: ${String(error)}`);
    return parts;
  }
}

/** Everything that reaches the model as text, not as a file. */
const isText = ({ kind }: ContentPart): boolean =>
  kind !== "image" && kind !== "audio" && kind !== "blob-resource";

const textIn = (part: ContentPart): string => {
  if (!isText(part)) return "";
  return part.kind === "text-resource" ? part.text : partNote(part);
};

/** The latest cuts, by artifact and size: the AI SDK converts all outputs of a conversation again in every step. */
type CutsByText = Map<string, Preview>;

const MAX_CUTS = 100;

interface FitParts {
  readonly limit: number;
  readonly cuts: CutsByText;
  /** Keeps a text and returns its id; undefined if the model cannot read the rest. */
  readonly keep: (text: string) => string | undefined;
}

interface SizedPart {
  readonly part: ContentPart;
  readonly text: string;
  readonly bytes: number;
}

function fitParts(parts: readonly ContentPart[], { limit, cuts, keep }: FitParts): readonly ContentPart[] {
  const texts = parts.filter(isText).map((part): SizedPart => {
    const text = textIn(part);
    return { part, text, bytes: utf8Length(text) };
  });
  const total = sumOf(texts);
  if (total <= limit) return parts;
  const compact = total <= limit * MAX_SAVING ? compactParts(parts) : parts;
  if (sumOf(compact.map((part) => ({ bytes: utf8Length(textIn(part)) }))) <= limit) return compact;
  const large = largeTexts(texts, total);
  const ids = large.map(({ text }) => keep(text));
  const isReadable = ids.every((id) => id !== undefined);
  const isLarge = new Set(large.flatMap((each) => each.parts));
  const small = texts.filter(({ part }) => !isLarge.has(part));
  const smallTokens = small.reduce((sum, { text }) => sum + tokenCeiling(text), 0);
  let left =
    (isReadable ? Math.min(PREVIEW_BYTES, Math.max(limit, 2 * SMALLEST_PREVIEW)) : limit) - sumOf(small);
  const notes: string[] = [];
  let isWhole = true;
  const cut = new Map<ContentPart, ContentPart | undefined>();
  for (const [index, { parts: group, text }] of large.entries()) {
    const [first, ...others] = group;
    const share = Math.floor(left / (large.length - index));
    const id = isReadable ? ids[index] : undefined;
    const tokens = (PREVIEW_TOKENS - smallTokens) / large.length;
    const key = id && [id, text.length, share, tokens].join();
    const cutText = (key && cuts.get(key)) || previewText(outlineText(text), { id, share, tokens });
    if (key) cuts.set(key, cutText);
    const { note, fitted } = cutText;
    notes.push(note);
    if (fitted.shown !== undefined) isWhole = false;
    left -= utf8Length(fitted.text) + (isReadable ? utf8Length(note) : 0);
    cut.set(first!, fitted.text === "" ? undefined : withText(first!, fitted.text));
    for (const other of others) cut.set(other, undefined);
  }
  // With a very small limit, even the preview may show everything.
  if (isWhole) return compactParts(parts);
  const shortened = parts.flatMap((part) => (cut.has(part) ? (cut.get(part) ?? []) : [part]));
  const bytes = sumOf(shortened.filter(isText).map((part) => ({ bytes: utf8Length(textIn(part)) })));
  // In front: behind cut JSON, models take a note for data.
  return [textPart(`[truncated: ${bytes} of ${total} bytes. ${notes.join(" Then: ")}]`), ...shortened];
}

/** JSON without indentation. */
const compactParts = (parts: readonly ContentPart[]): readonly ContentPart[] =>
  parts.map((part) => {
    const text = textIn(part);
    const compact = compactText(text);
    return compact === text ? part : withText(part, compact);
  });

const sumOf = (sized: readonly { readonly bytes: number }[]): number =>
  sized.reduce((total, { bytes }) => total + bytes, 0);

/** The largest text on its own, so that JSON stays JSON; the others together, unless they are small. */
function largeTexts(texts: readonly SizedPart[], total: number) {
  const join = (sized: readonly SizedPart[]) => ({
    parts: sized.map(({ part }) => part),
    text: sized.map(({ text }) => text).join("\n"),
  });
  const largest = texts.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  if (largest.bytes * 2 < total) return [join(texts)];
  const others = texts.filter((each) => each !== largest);
  return sumOf(others) <= SMALL_BYTES ? [join([largest])] : [join([largest]), join(others)];
}

const withText = (part: ContentPart, text: string): ContentPart =>
  part.kind === "text-resource" ? { ...part, text } : textPart(text);
