/** Checks arguments against the tool's own schema before anything is sent. Invalid arguments are repaired or rejected. */

import type { CheckArguments } from "../config/server-entry.js";
import type { JsonSchema } from "../model/listed-tool.js";
import { applyDefaults } from "../schema/apply-defaults.js";
import { sayUnchecked } from "../schema/check-schema.js";
import type { ValidationIssue } from "../schema/validation-issue.js";
import type { InvalidArguments, OnContradiction } from "./invalid-arguments.js";
import type { ResolvedCall, SentArguments, ServerStep, ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

type Arguments = ToolCall["args"];

interface ArgumentCheckParts {
  /** For calls and servers that do not set `checkArguments`. */
  readonly mode: CheckArguments;
  readonly onContradiction: OnContradiction;
}

/**
 * Checks the arguments of a call for its current server. Throws `INVALID_ARGUMENTS`. Returns undefined if the arguments are
 * sent unchanged, and a promise only if the validator has to be loaded or the arguments are invalid.
 */
export type ArgumentCheck = (
  call: ResolvedCall,
) => SentArguments | undefined | Promise<SentArguments | undefined>;

/** The schema as the server sent it, even if a mapper shows another one to models. */
export const inputSchemaOf = ({ target, tool }: ResolvedCall): JsonSchema =>
  target.source?.inputSchema ?? tool.inputSchema;

export function createArgumentCheck(parts: ArgumentCheckParts): ArgumentCheck {
  return (call) => {
    const { args, added, options, checked, target } = call;
    // A later round repeats the arguments of the first one.
    const { suspension } = call;
    if (suspension?.input !== undefined) return recordSent(call, { args: suspension.input.args });
    const schema = inputSchemaOf(call);
    if (
      checked !== undefined &&
      checked.schema === schema &&
      checked.args === args &&
      checked.added === added
    )
      return recordSent(call, checked.sent);
    const mode = options.checkArguments ?? target.config.checkArguments ?? parts.mode;
    const filled = options.applyDefaults === true ? (applyDefaults(schema, args) as Arguments) : args;
    if (mode === "off") return recordSent(call, sentFor(call, filled));
    const unchecked = target.source?.unchecked ?? [];
    if (unchecked.length > 0) parts.onContradiction(call.tool, uncheckedMessage(call.tool, unchecked));
    const issues = target.validator.validate(schema, filled, call.budget);
    // Fast path: the validator is loaded and the arguments are valid. Allocates nothing.
    if (!(issues instanceof Promise) && issues.length === 0) return recordSent(call, sentFor(call, filled));
    return settle(issues, { call, schema, args: filled, mode });
  };

  async function settle(
    checking: readonly ValidationIssue[] | Promise<readonly ValidationIssue[]>,
    given: Omit<InvalidArguments, "issues">,
  ): Promise<SentArguments | undefined> {
    const { call, args } = given;
    const issues = await checking;
    if (issues.length === 0) return recordSent(call, sentFor(call, args));
    // Loaded on first use: most calls are valid.
    const { repairOrThrow } = await import("./invalid-arguments.js");
    const { args: repairedArgs, repaired } = await repairOrThrow({ ...given, issues }, parts.onContradiction);
    const sent = sentFor(call, repairedArgs);
    return recordSent(call, repaired === undefined ? sent : { ...sent!, repaired });
  }
}

const uncheckedMessage = ({ sourceName }: ToolCall["tool"], unchecked: readonly string[]): string =>
  `The tool ${JSON.stringify(sourceName)} has a schema that Toolport cannot check in full. Its calls are sent without checking ` +
  `${sayUnchecked(unchecked)}. Report this to the author of the server (SCHEMA_CONTRADICTS)`;

/** Undefined if the call is sent unchanged. */
const sentFor = ({ args: given, added }: ToolCall, args: Arguments): SentArguments | undefined =>
  args === given && added === undefined ? undefined : { args: withAdded({ args, added }) };

function recordSent(call: ToolCall, sent: SentArguments | undefined): SentArguments | undefined {
  const { trail } = call;
  if (trail === undefined) return sent;
  trail.sent = sent === undefined ? call : { ...call, args: sent.args };
  trail.repaired = sent?.repaired;
  trail.onReady?.();
  return sent;
}

/** The arguments of a call together with the values that interceptors and options add. */
export const withAdded = ({ args, added }: Pick<ToolCall, "args" | "added">): Arguments =>
  added === undefined ? args : { ...args, ...added };

/** Passes the checked arguments on. */
export function checkArgumentsStep(check: ArgumentCheck): ServerStep {
  return (next) => {
    const send = (call: ResolvedCall, sent: SentArguments | undefined): Promise<ToolResult> => {
      if (sent === undefined) return next(call);
      const { args, repaired } = sent;
      const sending = next({ ...call, args, added: undefined, checked: undefined });
      return repaired === undefined ? sending : sending.then((result) => ({ ...result, repaired }));
    };
    return (call) => {
      try {
        const sent = check(call);
        return sent instanceof Promise ? sent.then((found) => send(call, found)) : send(call, sent);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  };
}
