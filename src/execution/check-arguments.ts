/** Checks arguments against the tool's own schema before anything is sent. Invalid arguments are repaired or rejected. */

import type { CheckArguments } from "../config/server-entry.js";
import type { JsonSchema } from "../model/tool-info.js";
import { applyDefaults } from "../schema/apply-defaults.js";
import { sayUnchecked, uncheckedParts } from "../schema/check-schema.js";
import type { OnContradiction } from "./invalid-arguments.js";
import type { ResolvedCall, SentArguments, ServerStep, ToolCall } from "./tool-call.js";

type Arguments = ToolCall["args"];

interface ArgumentCheckParts {
  /** For calls and servers that do not set `checkArguments`. */
  readonly mode: CheckArguments;
  readonly onContradiction: OnContradiction;
}

/** Checks the arguments of a call for its current server. Throws `INVALID_ARGUMENTS`. Undefined if they are sent unchanged. */
export type ArgumentCheck = (call: ResolvedCall) => Promise<SentArguments | undefined>;

/** The schema as the server sent it, even if a mapper shows another one to models. */
export const inputSchemaOf = ({ target, tool }: ResolvedCall): JsonSchema =>
  target.source?.inputSchema ?? tool.inputSchema;

export function createArgumentCheck(parts: ArgumentCheckParts): ArgumentCheck {
  const inspected = new WeakSet<object>();
  return async (call) => {
    const sent = await toSend(call);
    call.onSent?.(sent === undefined ? call : { ...call, args: sent.args }, sent?.repaired);
    return sent;
  };

  async function toSend(call: ResolvedCall): Promise<SentArguments | undefined> {
    const { args, added, options, checked, target, suspension } = call;
    // A later round repeats the arguments of the first one.
    if (suspension?.input !== undefined) return { args: suspension.input.args };
    const schema = inputSchemaOf(call);
    const mode = options.checkArguments ?? target.config.checkArguments ?? parts.mode;
    const isSame = checked?.schema === schema && checked.args === args && checked.added === added;
    // The caller may forbid a repair that was made for the server before.
    if (isSame && (mode !== "strict" || checked.sent?.repaired === undefined)) return checked.sent;
    let filled = options.applyDefaults === true ? (applyDefaults(schema, args) as Arguments) : args;
    let repaired: SentArguments["repaired"];
    if (mode !== "off") {
      if (target.source !== undefined && !inspected.has(target.source)) {
        inspected.add(target.source);
        const unchecked = uncheckedParts(target.source.raw);
        if (unchecked.length > 0) parts.onContradiction(call.tool, uncheckedMessage(call.tool, unchecked));
      }
      const issues = await target.validator.validate(schema, filled, call.budget);
      if (issues.length > 0) {
        // Loaded on first use: most calls are valid.
        const { repairOrThrow } = await import("./invalid-arguments.js");
        const invalid = { call, schema, args: filled, mode, issues };
        ({ args: filled, repaired } = await repairOrThrow(invalid, parts.onContradiction));
      }
    }
    if (filled === args && added === undefined) return undefined;
    return { args: withAdded({ args: filled, added }), repaired };
  }
}

const uncheckedMessage = ({ sourceName }: ToolCall["tool"], unchecked: readonly string[]): string =>
  `The tool ${JSON.stringify(sourceName)} has a schema that Toolport cannot check in full. Its calls are sent without checking ` +
  `${sayUnchecked(unchecked)}. Report this to the author of the server (SCHEMA_CONTRADICTS)`;

/** The arguments of a call together with the values that interceptors and options add. */
export const withAdded = ({ args, added }: Pick<ToolCall, "args" | "added">): Arguments =>
  added === undefined ? args : { ...args, ...added };

/** Passes the checked arguments on. */
export const checkArgumentsStep =
  (check: ArgumentCheck): ServerStep =>
  (next) =>
  async (call) => {
    const sent = await check(call);
    if (sent === undefined) return next(call);
    const { args, repaired } = sent;
    const answer = await next({ ...call, args, added: undefined, checked: undefined });
    return repaired === undefined ? answer : { ...answer, result: { ...answer.result, repaired } };
  };
