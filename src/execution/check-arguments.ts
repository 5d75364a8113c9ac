/** Arguments are checked against the tool's own schema before anything is sent; what does not fit is repaired or refused. */

import type { ServerConfig } from "../config/server-config.js";
import type { CheckArguments } from "../config/server-entry.js";
import type { JsonSchema } from "../model/listed-tool.js";
import { applyDefaults } from "../schema/apply-defaults.js";
import type { SchemaValidator } from "../schema/create-validator.js";
import type { ValidationIssue } from "../schema/validation-issue.js";
import { serverValidator } from "./server-validator.js";
import type { CallInterceptor, SentArguments, ToolCall } from "./tool-call.js";
import type { ToolResult } from "./tool-result.js";

type Arguments = ToolCall["args"];

export interface ArgumentCheckParts {
  /** The port's, for servers that bring none of their own. */
  readonly validator: SchemaValidator;
  readonly configOf: (server: string) => ServerConfig | undefined;
  /** The schema as the server sent it, whatever a mapper of the user's shows to models. */
  readonly schemaOf: (call: ToolCall) => JsonSchema;
  /** Where neither the call nor its server says otherwise. */
  readonly mode: CheckArguments;
  /** The arguments fit only a lenient reading of the schema, or nothing can be said about them. */
  readonly onContradiction: (tool: ToolCall["tool"], message: string) => void;
}

/**
 * Checks the arguments of a call for the server that is asked now. Undefined: they are sent as they are. Throws
 * `INVALID_ARGUMENTS`. At once if the validator is loaded and the arguments fit, else a promise.
 */
export type ArgumentCheck = (
  call: ToolCall,
) => SentArguments | undefined | Promise<SentArguments | undefined>;

export function createArgumentCheck(parts: ArgumentCheckParts): ArgumentCheck {
  return (call) => {
    const { args, added, options, checked } = call;
    const schema = parts.schemaOf(call);
    if (
      checked !== undefined &&
      checked.schema === schema &&
      checked.args === args &&
      checked.added === added
    )
      return noted(call, checked.sent);
    const config = parts.configOf(call.tool.server);
    const mode = options.checkArguments ?? config?.checkArguments ?? parts.mode;
    const filled = options.applyDefaults === true ? (applyDefaults(schema, args) as Arguments) : args;
    if (mode === "off") return noted(call, sentFor(call, filled));
    const validator = serverValidator(config) ?? parts.validator;
    const issues = validator.validate(schema, filled, call.budget);
    // Nothing is allocated for the usual case: loaded, valid, sent as it is.
    if (!(issues instanceof Promise) && issues.length === 0) return noted(call, sentFor(call, filled));
    return settle(issues, { call, schema, args: filled, validator, mode });
  };

  async function settle(
    checking: readonly ValidationIssue[] | Promise<readonly ValidationIssue[]>,
    given: Omit<InvalidArguments, "issues">,
  ): Promise<SentArguments | undefined> {
    const issues = await checking;
    if (issues.length === 0) return noted(given.call, sentFor(given.call, given.args));
    return settleInvalid({ ...given, issues });
  }

  /** Loaded when it is first needed: most calls are valid. */
  async function settleInvalid(invalid: InvalidArguments): Promise<SentArguments | undefined> {
    const { repairOrRefuse } = await import("./invalid-arguments.js");
    const { args, repaired } = await repairOrRefuse(invalid, parts.onContradiction);
    const sent = sentFor(invalid.call, args);
    return noted(invalid.call, repaired === undefined ? sent : { ...sent!, repaired });
  }
}

/** Arguments that do not fit, and all that is known about them. */
export interface InvalidArguments {
  readonly call: ToolCall;
  readonly schema: JsonSchema;
  /** With defaults, if the caller wants them. */
  readonly args: Arguments;
  readonly issues: readonly ValidationIssue[];
  readonly validator: SchemaValidator;
  readonly mode: CheckArguments;
}

/** Undefined if nothing is changed: nothing is allocated for a call that is sent as it came. */
const sentFor = ({ args: given, added }: ToolCall, args: Arguments): SentArguments | undefined =>
  args === given && added === undefined ? undefined : { args: withAdded({ args, added }) };

/** Tells those who follow the call what is sent. */
function noted(call: ToolCall, sent: SentArguments | undefined): SentArguments | undefined {
  const { trail } = call;
  if (trail === undefined) return sent;
  trail.sent = sent === undefined ? call : { ...call, args: sent.args };
  trail.repaired = sent?.repaired;
  trail.onReady?.();
  return sent;
}

/** The arguments of a call, with the values that are added to them. */
export const withAdded = ({ args, added }: Pick<ToolCall, "args" | "added">): Arguments =>
  added === undefined ? args : { ...args, ...added };

/** Sends what the check makes of the arguments. */
export function checkArgumentsStep(check: ArgumentCheck): CallInterceptor {
  return (next) => {
    const send = (call: ToolCall, sent: SentArguments | undefined): Promise<ToolResult> => {
      if (sent === undefined) return next(call);
      const { args, repaired } = sent;
      const answer = next({ ...call, args, added: undefined, checked: undefined });
      return repaired === undefined ? answer : answer.then((result) => ({ ...result, repaired }));
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
