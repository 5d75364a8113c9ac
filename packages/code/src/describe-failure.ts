/** The message for the model that wrote a program which failed: what happened, where, what exists instead, what had run. */
import { suggest, toSentence, visibleLine } from "@toolport/base";
import type { EndError } from "./code-executor.js";
import type { CodeCall, CodeErrorCode } from "./code-mode.js";

/** Why a program failed, before it is put into words. */
export interface Failure extends Pick<EndError, "name" | "message" | "line" | "column" | "missing"> {
  readonly code: CodeErrorCode;
}

interface FailureFacts {
  readonly source: string;
  /** Members of `tools`. */
  readonly members: Readonly<Record<string, readonly string[]>>;
  readonly calls: readonly CodeCall[];
}

/** Longer lines of the program are cut. */
const MAX_LINE = 160;
/** Further names and calls are only counted. */
const MAX_NAMES = 30;
const MAX_CALLS = 20;

export function describeFailure(failure: Failure, { source, members, calls }: FailureFacts): string {
  const parts = [
    `${failure.name}${positionOf(failure)}: ${toSentence(messageOf(failure))}`,
    lineOf(failure, source),
    adviceOn(failure, source, members),
    describeCalls(calls),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** What exists instead follows in a line of its own, with a suggestion. */
const messageOf = ({ missing, message }: Failure): string =>
  missing === undefined ? message : message.replace(/ It has: .*$/s, "");

const positionOf = ({ line, column }: Failure): string =>
  line === undefined ? "" : `, line ${line}${column === undefined ? "" : `, column ${column}`}`;

const linesOf = (source: string): string[] => source.split(/\r\n|[\n\r\u2028\u2029]/);

/** The position of a failure, without numbers that are not in the program: it can write any stack into its errors. */
export function realPosition(
  { line, column }: Pick<Failure, "line" | "column">,
  source: string,
): Pick<Failure, "line" | "column"> {
  const text = line !== undefined && Number.isInteger(line) ? linesOf(source)[line - 1] : undefined;
  if (text === undefined) return {};
  const isInside =
    column !== undefined && Number.isInteger(column) && column >= 1 && column <= text.length + 1;
  return isInside ? { line, column } : { line };
}

function lineOf({ line, column }: Failure, source: string): string {
  const text = line === undefined ? undefined : linesOf(source)[line - 1];
  if (text === undefined || text.trim() === "") return "";
  const excerpt = visibleLine(text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text);
  // The mark fits only if no character was replaced.
  const hasMark =
    column !== undefined && column <= excerpt.length + 1 && excerpt.startsWith(text.slice(0, MAX_LINE));
  return hasMark ? `  ${excerpt}\n  ${" ".repeat(column - 1)}^` : `  ${excerpt}`;
}

function adviceOn(failure: Failure, source: string, members: FailureFacts["members"]): string {
  if (failure.missing !== undefined) return whatExists(failure.missing, members);
  if (failure.code === "SYNTAX" && /^\s*(?:import|export)\b/m.test(source)) return NO_MODULES;
  return ADVICE[failure.code] ?? "";
}

const NO_MODULES =
  "There are no modules: the program is the body of an async function, and `tools` is there already.";

const ADVICE: Partial<Record<CodeErrorCode, string>> = {
  CPU_LIMIT: "Compute less: work on fewer items, or use simpler text functions and patterns.",
  TIME_LIMIT: "Make fewer calls, or make independent calls at the same time with Promise.all.",
  MEMORY_LIMIT: "Keep less data at a time: select what you need from each result before the next call.",
  CALL_LIMIT: "Make fewer calls: use arguments that select more at once, or stop earlier.",
  RESULT_TOO_LARGE: "Return less: select fields, count, or return the first items only.",
  OVERLOADED: "Run the program again later.",
  STUCK: "Await only calls of `tools`. There are no timers and no other input.",
};

function whatExists(
  { server, tool }: { readonly server: string; readonly tool?: string | undefined },
  members: FailureFacts["members"],
): string {
  const [owner, wanted, names] =
    tool === undefined
      ? ["tools", server, Object.keys(members)]
      : [`tools.${server}`, tool, members[server] ?? []];
  const [closest] = suggest(wanted, names);
  const hint = closest === undefined ? "" : `Did you mean ${owner}.${closest}? `;
  return `${hint}${owner} has: ${listOf(names, MAX_NAMES)}.`;
}

function listOf(names: readonly string[], limit: number): string {
  const list = names.slice(0, limit).join(", ");
  return names.length > limit ? `${list}, and ${names.length - limit} more` : list || "nothing";
}

/** The model must know what has an effect already, so that it does not repeat it. */
function describeCalls(calls: readonly CodeCall[]): string {
  if (calls.length === 0) return "No call was made.";
  const counts = new Map<string, number>();
  for (const call of calls) {
    const text = describeCall(call);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const all = [...counts].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
  return `Calls before that: ${listOf(all, MAX_CALLS)}.`;
}

function describeCall({ tool, ok, outcome, code }: CodeCall): string {
  if (ok) return `${tool} succeeded`;
  if (outcome === "unsent") return `${tool} was not sent (${code})`;
  return outcome === undefined ? `${tool} failed (${code})` : `${tool} may have run (${code})`;
}
