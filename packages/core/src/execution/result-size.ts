/** Limits the size of results: larger ones are truncated, or their largest blocks are replaced by artifacts. */
import { limitByName } from "@toolport/base";
import type { Artifacts } from "./artifacts/artifact-store.js";
import { payloadOf } from "./artifacts/result-payload.js";
import type { CallStep, ToolCall } from "./tool-call.js";
import type { ResultArtifact, ToolResult } from "./tool-result.js";

export { TRUNCATED_META_KEY } from "./artifacts/result-payload.js";

/** How results that are too large are handled. */
export interface ResultSizeOptions {
  /** Maximum size of the content (text in UTF-8, anything else in base64), and of the structured content. */
  bytes: number;
  /** `truncate`: cut the result and mark it. `spill`: move the largest blocks to `result.artifacts`. */
  mode: "truncate" | "spill";
  /**
   * Other limits for some tools, by public name or by name on the server; `*` and `?` are wildcards. An exact name comes before wildcards, and
   * among those the first that matches counts. `Infinity`: no limit.
   * @default none
   * @example
   * ```ts
   * { bytes: 100_000, mode: "truncate", tools: { "docs__*": 500_000, files__read: Number.POSITIVE_INFINITY } }
   * ```
   */
  tools?: Readonly<Record<string, number>>;
  /**
   * Keep the texts that were cut or moved, so that a model can read them in parts with the tool `read_artifact`, which `tools()` then lists.
   * They are kept in memory, for the same user only: one hour after their last use, at most 64 MiB for all users, and until `close()`.
   * @default false
   */
  read?: boolean;
  /** Called for every artifact before the result is returned, for instance to save it. */
  onSpill?: (artifact: ResultArtifact, call: ToolCall) => void | Promise<void>;
}

/** Maximum size of a result; a number truncates. @default no limit */
export type ResultSizeOption = number | ResultSizeOptions;

export interface ResultSizeParts {
  /** Receives errors of `onSpill`. */
  report?: (error: unknown) => void;
  createId?: () => string;
  /** Used if the option `read` is set. */
  artifacts?: () => Artifacts;
}

/** Limits the size of results. */
export function resultSizeStep(
  options: ResultSizeOption,
  { report = () => {}, createId = () => crypto.randomUUID(), artifacts }: ResultSizeParts = {},
): CallStep {
  const { bytes, mode, onSpill, tools, read }: ResultSizeOptions =
    typeof options === "number" ? { bytes: options, mode: "truncate" } : options;
  const limitOf = limitByName(bytes, tools);
  return (next) => async (call) => {
    const answer = await next(call);
    const { result } = answer;
    const limit = limitOf(call.tool.name, call.tool.sourceName);
    if (isSmall(result, limit)) return answer;
    const { spillResult, truncateResult } = await import("./artifacts/limit-result.js");
    const kept = read === true ? artifacts?.() : undefined;
    const facts = { server: result.server, tool: call.tool.sourceName };
    const keep = kept && ((text: string, mimeType?: string) => kept.keep(text, { ...facts, mimeType }));
    if (mode === "truncate") return { ...answer, result: truncateResult(result, limit, { keep }) };
    const { rest, notes } = spillResult(result, limit, { createId, keep });
    for (const artifact of notes.values()) {
      try {
        await onSpill?.(artifact, call);
      } catch (error) {
        report(error);
      }
    }
    // Many small blocks may still exceed the limit.
    return { ...answer, result: truncateResult(rest, limit, { notes, keep }) };
  };
}

/** Fast check that is enough for most results. */
const isSmall = ({ content, structuredContent }: ToolResult, limit: number): boolean =>
  limit === Number.POSITIVE_INFINITY ||
  (structuredContent === undefined &&
    content.reduce((total, block) => total + 3 * payloadOf(block).length, 0) <= limit);
