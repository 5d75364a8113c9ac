/** Repairs or rejects arguments that do not match a tool's schema. Loaded lazily, because most calls are valid. */

import { debugChannel, type JsonSchema, sleep, ToolCallError } from "@toolport/base";
import type { ArgumentRepair, ValidationIssue } from "@toolport/schemas";
import { applyDefaults } from "@toolport/schemas/internal";
import type { CheckArguments } from "../config/server-entry.js";
import type { ResolvedCall, SentArguments, ToolCall } from "./tool-call.js";

const debug = debugChannel("call");

/** Arguments that do not match the schema. */
export interface InvalidArguments {
  readonly call: ResolvedCall;
  readonly schema: JsonSchema;
  /** With defaults, if the caller asked for them. */
  readonly args: ToolCall["args"];
  readonly issues: readonly ValidationIssue[];
  readonly mode: CheckArguments;
}

/** The arguments match only a lenient reading of the schema, or the schema cannot be applied. */
export type OnContradiction = (tool: ToolCall["tool"], message: string) => void;

/** The arguments to send, without the added values. Throws `INVALID_ARGUMENTS`, but not if the schema cannot be applied. */
export async function repairOrThrow(
  { call, schema, args, issues, mode }: InvalidArguments,
  onContradiction: OnContradiction,
): Promise<SentArguments> {
  const { tool, options, budget, target } = call;
  if (issues.every(({ unchecked }) => unchecked)) {
    onContradiction(tool, contradictionMessage(tool, issues[0]!));
    // The check may have blocked the event loop until its time limit: let other work run before the next check.
    await sleep(0, options.signal);
    return { args };
  }
  if (mode === "strict") throw invalidArgumentsError(call, issues);
  const refill = (value: unknown) => applyDefaults(schema, value as ToolCall["args"]);
  const outcome = await target.validator.repair(schema, args, {
    issues,
    budget,
    refill: options.applyDefaults === true ? refill : undefined,
  });
  if (outcome.kind === "refused") throw invalidArgumentsError(call, outcome.issues);
  if (outcome.kind === "contradicts" || outcome.contradicts)
    onContradiction(tool, contradictionMessage(tool, issues[0]!));
  if (outcome.kind === "contradicts") return { args };
  const { repairs: repaired, value } = outcome;
  if (debug.enabled)
    debug(
      `[${tool.server}/${tool.sourceName}] arguments repaired: ${repaired.map(describeRepair).join("; ")}`,
    );
  return { args: value as ToolCall["args"], repaired };
}

const describeRepair = ({ path, change, to }: ArgumentRepair): string =>
  `${path} ${change}${to === undefined ? "" : ` to ${JSON.stringify(to)}`}`;

const contradictionMessage = ({ sourceName }: ToolCall["tool"], { path, message }: ValidationIssue): string =>
  `The input schema of the tool ${JSON.stringify(sourceName)} contradicts itself or cannot be applied: ${path} ${message}. ` +
  "The call was sent and the server decides; report this to the author of the server (SCHEMA_CONTRADICTS)";

/** One line for each issue, path first, because models read it. */
function invalidArgumentsError({ tool }: ToolCall, issues: readonly ValidationIssue[]): ToolCallError {
  const lines = issues.map(({ path, message }) => `${path} ${message}`);
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server: tool.server,
    tool: tool.sourceName,
    what: ["Nothing was sent: the arguments do not match the tool's schema:", ...lines].join("\n"),
    next: "Correct them and call again",
    outcome: "unsent",
    issues,
  });
}
