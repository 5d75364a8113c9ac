/** Asks the policy whether a call may run, and the user if the policy wants an approval. */

import { type Fields, isRecord, oncePerObject, visibleLine } from "@toolport/base";
import type { ToolCall } from "@toolport/core";
import { badState, failedResult, Refusal } from "../faults.js";
import type { ToolEntry } from "../lists/list-entries.js";
import type { PolicyDecision, PolicyRequest } from "../policy/policy.js";
import type { Handled, RequestContext, RequestFacts } from "../request-context.js";
import { resultText } from "../results.js";
import { askInResult, type NextRound } from "./request-state.js";

/** What the client says about an approval, in an earlier round and in this one. */
interface ApprovalParts {
  readonly round: NextRound | undefined;
  readonly inputResponses: Fields | undefined;
  /** What the next round must be about, too. */
  readonly identity: unknown;
}

/** Key of the question in `inputRequests`. */
const APPROVAL = "approval";
const MAX_REASON = 500;

/** The end of a call that must not run or waits for an approval; else whether its arguments must stay as they are. */
export type DecidedCall =
  | {
      readonly answer: Handled;
      /** By the policy, not by a person. */
      readonly isDenied: boolean;
    }
  | AllowedCall;

export interface AllowedCall {
  /** The policy has read these arguments, so they must not be repaired. */
  readonly isExact: boolean;
  /** A person has approved the call. */
  readonly isApproved: boolean;
}

/** Without a policy. */
export const UNRULED: AllowedCall = { isExact: false, isApproved: false };

/** Undefined without a policy. */
function decide(
  { parts, client: { principal, scopes } }: RequestContext,
  call: Pick<PolicyRequest, "server" | "tool" | "publicName" | "args">,
): PolicyDecision | Promise<PolicyDecision> | undefined {
  return parts.policy?.decide({ principal, scopes, method: "tools/call", ...call });
}

export async function decideCall(
  context: RequestContext,
  { info, source }: ToolEntry,
  args: Fields,
  approval: ApprovalParts,
): Promise<DecidedCall> {
  const call = { server: info.server, tool: source.sourceName, publicName: info.name, args };
  const decision = await decide(context, call);
  if (decision === undefined) return UNRULED;
  if (decision.effect === "deny") return { answer: refused(context, decision), isDenied: true };
  // What a person has decided about the call holds, also if the policy asks no person any more.
  if (decision.effect === "allow" && approval.round?.kind !== "approval")
    return { isExact: decision.readsArguments === true, isApproved: false };
  const answer = await approve(context, decision, { ...approval, info, args }, () => decide(context, call));
  // A person who approves has read the arguments too.
  return answer === undefined ? { isExact: true, isApproved: true } : { answer, isDenied: false };
}

/**
 * The error for a call that waited at its server for an answer of the client, if new rules deny it. What is read is decided about
 * before its answer comes here.
 */
export async function refusalNow(
  context: RequestContext,
  { server, tool, args }: RequestFacts,
): Promise<Refusal | undefined> {
  if (context.request.method !== "tools/call" || server === undefined) return undefined;
  const decision = await decide(context, { server, tool, args });
  // An approval that a new rule demands would come too late: the call runs.
  if (decision?.effect !== "deny") return undefined;
  return new Refusal(server, decision.reason ?? "the policy does not allow it", "unknown");
}

/**
 * Decides about the call of a fallback server. An approval of the call covers it, if its server needs no other decision.
 *
 * @param isApproved whether a person has approved the call
 * @returns the call as that server may get it; undefined if it must not get the call
 */
export async function decideFallback(
  context: RequestContext,
  call: ToolCall,
  isApproved: boolean,
): Promise<ToolCall | undefined> {
  const { parts, user, client } = context;
  const { server, sourceName: tool } = call.tool;
  const listed = user.port.catalog.find(server, tool)?.info;
  if (listed === undefined || !parts.offers(client.principal, listed)) return undefined;
  const decision = await decide(context, { server, tool, args: call.args });
  if (decision === undefined) return call;
  if (decision.effect !== "allow" && !(isApproved && decision.effect === "approve")) return undefined;
  return decision.readsArguments === true
    ? { ...call, options: { ...call.options, checkArguments: "strict" } }
    : call;
}

/** @param decideAgain asks the policy */
async function approve(
  context: RequestContext,
  decision: PolicyDecision,
  { round, inputResponses, identity, info, args }: ApprovalParts & { info: ToolEntry["info"]; args: Fields },
  decideAgain: () => ReturnType<typeof decide>,
): Promise<Handled | undefined> {
  const { client, exchange } = context;
  if (round?.kind === "approval") {
    // The name that the client uses may lead to another tool by now.
    if (round.server !== info.server || round.tool !== info.sourceName) throw badState();
    return saysYes(inputResponses?.[APPROVAL]) ? undefined : refused(context, decision);
  }
  // Not every later round: the call may have needed a login before the policy could decide about it.
  if (round !== undefined && round.kind !== "parked" && round.isApproved === true) return undefined;
  if (!takesForms(client.capabilities)) return refused(context, decision);
  const params = question(info, args, decision.reason);
  if (client.era === "legacy") {
    if (exchange.ask === undefined) return refused(context, decision);
    // An error instead of an answer is no approval either.
    const { result } = await exchange.ask("elicitation/create", params, exchange.signal);
    if (!saysYes(result)) return refused(context, decision);
    // The rules may have changed while the person thought about it.
    const now = await decideAgain();
    return now?.effect === "deny" ? refused(context, now) : undefined;
  }
  const inputRequests = { [APPROVAL]: { method: "elicitation/create", params } };
  const asked: NextRound = { kind: "approval", server: info.server, tool: info.sourceName };
  return askInResult(context, asked, identity, { inputRequests });
}

const takesForms = ({ elicitation }: Fields): boolean =>
  isRecord(elicitation) && (elicitation["form"] !== undefined || Object.keys(elicitation).length === 0);

function question({ name, inputSchema }: ToolEntry["info"], args: Fields, reason = "") {
  const { text, isShortened } = showArguments(args, inputSchema["properties"]);
  const why = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
  const lines = [`Allow ${name} with these arguments? ${why}`.trimEnd()];
  // Before the arguments, because a client may show only the beginning.
  if (isShortened)
    lines.push("They are too long to show in full: notes such as (+90 characters) say what is missing.");
  return {
    mode: "form",
    message: [...lines, text].join("\n"),
    requestedSchema: {
      type: "object",
      properties: { allow: { type: "boolean", title: "Allow this call", default: false } },
      required: ["allow"],
    },
  };
}

const saysYes = (answer: unknown): boolean =>
  isRecord(answer) &&
  answer["action"] === "accept" &&
  isRecord(answer["content"]) &&
  answer["content"]["allow"] === true;

function refused({ client }: RequestContext, { effect, reason }: PolicyDecision): Handled {
  const why = reason ?? (effect === "deny" ? "the policy does not allow it" : "the call was not approved");
  const failure = { code: "REFUSED", retryable: false, outcome: "unsent" };
  const result = failedResult(`The gateway refused this call: ${why}`, failure);
  return { json: resultText(client, result), facts: { outcome: "refused" } };
}

const MAX_SHOWN = 3_000;
/** Longer names of arguments are shortened. */
const MAX_NAME = 32;
/** The smallest limit for a value. */
const MIN_VALUE = 32;
/** So many arguments fit, whatever they contain. */
const MAX_FIELDS = Math.floor(MAX_SHOWN / (MAX_NAME + MIN_VALUE + 2));
/** Longer values below this depth are only counted. */
const MAX_DEPTH = 5;

type Field = readonly [name: string, value: unknown];

/**
 * Shows arguments in about 3,000 characters: with the largest limit for one value with which all of them fit, so a value is shortened
 * only because of its own length. Of more arguments than fit, the declared ones come first.
 *
 * @param declared `properties` of the tool's input schema
 * @example
 * ```ts
 * showArguments({ note: "x".repeat(9_000), path: "/etc/passwd" }, undefined).text;
 * // {"note":"xxx" (+6750 characters),"path":"/etc/passwd"}, with more of the note
 * ```
 */
export function showArguments(args: Fields, declared: unknown): { text: string; isShortened: boolean } {
  const whole = fitting(args, MAX_SHOWN);
  if (whole !== undefined) return { text: whole, isShortened: false };
  const known = isRecord(declared) ? declared : {};
  const fields = Object.entries(args);
  const isKnown = ([name]: Field): boolean => Object.hasOwn(known, name);
  const ordered = [...fields.filter(isKnown), ...fields.filter((field) => !isKnown(field))];
  for (let limit = MAX_SHOWN; ; limit *= 0.75) {
    const shown = ordered.slice(0, MAX_FIELDS).map((field) => showField(field, limit, 0));
    const text = `{${withRest(shown, ordered.length, "arguments")}}`;
    if (text.length <= MAX_SHOWN || limit < MIN_VALUE) return { text, isShortened: true };
  }
}

/** Read once: every limit needs the length of every value. */
const objectJson = oncePerObject((value: object) => JSON.stringify(value));

const toJson = (value: unknown): string =>
  typeof value === "object" && value !== null ? objectJson(value) : (JSON.stringify(value) ?? "undefined");

/** The whole value if it is short enough. Invisible characters are spelled out. */
function fitting(value: unknown, limit: number): string | undefined {
  if (typeof value === "string" && value.length > limit) return undefined;
  const json = toJson(value);
  if (json.length > limit) return undefined;
  const text = visibleLine(json);
  return text.length > limit ? undefined : text;
}

/** A text in `limit` characters; of a list or an object as many entries as fit with the smallest limit. */
function show(value: unknown, limit: number, depth: number): string {
  const whole = fitting(value, limit);
  if (whole !== undefined) return whole;
  if (typeof value === "string") return shorten(value, limit);
  const count = depth > MAX_DEPTH ? 0 : Math.max(0, Math.floor(limit / MIN_VALUE) - 1);
  if (Array.isArray(value)) {
    const items = value.slice(0, count).map((item) => show(item, limit, depth + 1));
    return `[${withRest(items, value.length, "items")}]`;
  }
  if (!isRecord(value)) return toJson(value);
  const fields = Object.entries(value);
  const shown = fields.slice(0, count).map((field) => showField(field, limit, depth + 1));
  return `{${withRest(shown, fields.length, "fields")}}`;
}

const showField = ([name, value]: Field, limit: number, depth: number): string =>
  `${fitting(name, MAX_NAME) ?? shorten(name, MAX_NAME)}:${show(value, limit, depth)}`;

function withRest(texts: readonly string[], count: number, what: string): string {
  const rest = count > texts.length ? [`(+${count - texts.length} ${what})`] : [];
  return [texts.join(","), ...rest].filter((text) => text !== "").join(" ");
}

/** The beginning of a text, with the number of characters that are missing. */
function shorten(text: string, limit: number): string {
  const note = (length: number): string => ` (+${text.length - length} characters)`;
  let length = Math.max(1, Math.floor(limit - note(0).length - 2));
  for (;;) {
    const head = visibleLine(toJson(text.slice(0, length)));
    // Escape sequences are longer than the characters.
    if (length === 1 || head.length + note(length).length <= limit) return head + note(length);
    length = Math.max(1, Math.floor(length * 0.9));
  }
}
