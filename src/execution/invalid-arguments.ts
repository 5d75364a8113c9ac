/** What becomes of arguments that do not fit a tool's schema. Reached by a dynamic import only: most calls are valid. */
import { ToolCallError } from "../errors/tool-call-error.js";
import { applyDefaults } from "../schema/apply-defaults.js";
import type { ArgumentRepair } from "../schema/argument-repair.js";
import type { ValidationIssue } from "../schema/validation-issue.js";
import { debugChannel } from "../telemetry/debug-channel.js";
import { sleep } from "../util/sleep.js";
import type { ArgumentCheckParts, InvalidArguments } from "./check-arguments.js";
import type { SentArguments, ToolCall } from "./tool-call.js";

const debug = debugChannel("call");

/** The arguments to send, without the values that are added. Throws `INVALID_ARGUMENTS`. */
export async function repairOrRefuse(
  { call, schema, args, issues, validator, mode }: InvalidArguments,
  onContradiction: ArgumentCheckParts["onContradiction"],
): Promise<SentArguments> {
  const { tool, options, budget } = call;
  if (mode === "strict") throw refusal(call, issues);
  const refill = (value: unknown) => applyDefaults(schema, value as ToolCall["args"]);
  const outcome = await validator.repair(schema, args, {
    issues,
    budget,
    refill: options.applyDefaults === true ? refill : undefined,
  });
  if (outcome.kind === "refused") throw refusal(call, outcome.issues);
  if (outcome.kind === "contradicts" || outcome.contradicts)
    onContradiction(tool, contradiction(tool, issues[0]!));
  if (outcome.kind === "contradicts") {
    // The check may have held the event loop until its time was up: let others run before the next one does.
    if (issues.some(({ unchecked }) => unchecked)) await sleep(0, options.signal);
    return { args };
  }
  const { repairs: repaired, value } = outcome;
  if (debug.enabled)
    debug(`[${tool.server}/${tool.sourceName}] arguments repaired: ${repaired.map(inWords).join("; ")}`);
  return { args: value as ToolCall["args"], repaired };
}

const inWords = ({ path, change, to }: ArgumentRepair): string =>
  `${path} ${change}${to === undefined ? "" : ` to ${JSON.stringify(to)}`}`;

const contradiction = ({ sourceName }: ToolCall["tool"], { path, message }: ValidationIssue): string =>
  `The input schema of the tool ${JSON.stringify(sourceName)} contradicts itself or cannot be applied: ${path} ${message}. ` +
  "The call was sent and the server decides; report this to the maker of the server (SCHEMA_CONTRADICTS)";

/** One line a problem, path first: a model reads it. */
function refusal({ tool }: ToolCall, issues: readonly ValidationIssue[]): ToolCallError {
  const lines = issues.map(({ path, message }) => `${path} ${message}`);
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server: tool.server,
    tool: tool.sourceName,
    what: ["Nothing was sent: the arguments do not fit the tool's schema:", ...lines].join("\n"),
    next: "Correct them and call again",
    outcome: "unsent",
    issues,
  });
}
