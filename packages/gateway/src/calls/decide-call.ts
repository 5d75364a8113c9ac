/** Asks the policy whether a call may run, and the user if the policy wants an approval. */

import { type Fields, isRecord, visibleLine } from "@toolport/base";
import type { ToolCall } from "@toolport/core";
import { badState, FAILURE_META_KEY, Refusal } from "../faults.js";
import type { ToolEntry } from "../lists/list-entries.js";
import type { PolicyDecision } from "../policy/policy.js";
import type { Handled, RequestContext, RequestFacts } from "../request-context.js";
import { resultText } from "../results.js";
import { askInResult, type NextRound } from "./request-state.js";

interface ApprovalParts {
  readonly round: NextRound | undefined;
  readonly wanted: {
    readonly name: string;
    readonly args: Fields;
    readonly inputResponses: Fields | undefined;
  };
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

export async function decideCall(
  context: RequestContext,
  { info, source }: ToolEntry,
  args: Fields,
  approval: ApprovalParts,
): Promise<DecidedCall> {
  const { parts, client } = context;
  const { policy } = parts;
  if (policy === undefined) return { isExact: false, isApproved: false };
  const decide = () =>
    policy.decide({
      principal: client.principal,
      scopes: client.scopes,
      method: "tools/call",
      server: info.server,
      tool: source.sourceName,
      publicName: info.name,
      args,
    });
  const decision = await decide();
  if (decision.effect === "deny") return { answer: refused(context, decision), isDenied: true };
  // What a person has decided about the call holds, also if the policy asks no person any more.
  if (decision.effect === "allow" && approval.round?.kind !== "approval")
    return { isExact: decision.readsArguments === true, isApproved: false };
  const answer = await approve(context, decision, { ...approval, info, args }, decide);
  // A person who approves has read the arguments too.
  return answer === undefined ? { isExact: true, isApproved: true } : { answer, isDenied: false };
}

/**
 * The error for a call that waited at its server for an answer of the client, if new rules deny it. What is read is decided about
 * before its answer comes here.
 */
export async function refusalNow(
  { parts, client, request }: RequestContext,
  { server, tool, args }: RequestFacts,
): Promise<Refusal | undefined> {
  const { method } = request;
  if (parts.policy === undefined || method !== "tools/call" || server === undefined) return undefined;
  const { principal, scopes } = client;
  const { effect, reason } = await parts.policy.decide({ principal, scopes, method, server, tool, args });
  // An approval that a new rule demands would come too late: the call runs.
  if (effect !== "deny") return undefined;
  return new Refusal(server, reason ?? "the policy does not allow it", "unknown");
}

/**
 * Decides about the call of a fallback server. An approval of the call covers it, if its server needs no other decision.
 *
 * @param isApproved whether a person has approved the call
 * @returns the call as that server may get it; undefined if it must not get the call
 */
export async function decideFallback(
  { parts, user, client }: RequestContext,
  call: ToolCall,
  isApproved: boolean,
): Promise<ToolCall | undefined> {
  const { server, sourceName: tool } = call.tool;
  const { principal, scopes } = client;
  const listed = user.port.catalog.find(server, tool)?.info;
  if (listed === undefined || !parts.offers(principal, listed)) return undefined;
  const { args } = call;
  const method = "tools/call";
  const decision = await parts.policy?.decide({ principal, scopes, method, server, tool, args });
  if (decision === undefined) return call;
  if (decision.effect !== "allow" && !(isApproved && decision.effect === "approve")) return undefined;
  return decision.readsArguments === true
    ? { ...call, options: { ...call.options, checkArguments: "strict" } }
    : call;
}

/** @param decide asks the policy again */
async function approve(
  context: RequestContext,
  decision: PolicyDecision,
  { round, wanted, info, args }: ApprovalParts & { info: ToolEntry["info"]; args: Fields },
  decide: () => PolicyDecision | Promise<PolicyDecision>,
): Promise<Handled | undefined> {
  const { client, exchange } = context;
  if (round?.kind === "approval") {
    // The name that the client uses may lead to another tool by now.
    if (round.server !== info.server || round.tool !== info.sourceName) throw badState();
    return saysYes(wanted.inputResponses?.[APPROVAL]) ? undefined : refused(context, decision);
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
    const now = await decide();
    return now.effect === "deny" ? refused(context, now) : undefined;
  }
  const inputRequests = { [APPROVAL]: { method: "elicitation/create", params } };
  const asked: NextRound = { kind: "approval", server: info.server, tool: info.sourceName };
  return askInResult(context, asked, { identity: [wanted.name, wanted.args], fields: { inputRequests } });
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
  const json = resultText(client, {
    content: [{ type: "text", text: `The gateway refused this call: ${why}` }],
    isError: true,
    _meta: { [FAILURE_META_KEY]: { code: "REFUSED", retryable: false, outcome: "unsent" } },
  });
  return { json, facts: { outcome: "refused" } };
}

const MAX_SHOWN = 3_000;
/** Longer names of arguments are shortened. */
const MAX_NAME = 32;
/** Space for the smallest form of a value, and of a field: a name and a value. */
const MIN_VALUE = 32;
const MIN_FIELD = MAX_NAME + MIN_VALUE + 2;
/** Space for the number of entries that are left out. */
const REST = 24;
/** Longer values below this depth are only counted, because each level reads its values again. */
const MAX_DEPTH = 5;

type Field = readonly [name: string, value: unknown];

/**
 * Shows arguments in about 3,000 characters. The shortest values get their space first and the long ones share the rest, so a
 * value is shortened only because of its own length. Of more arguments than fit, the declared ones come first.
 *
 * @param declared `properties` of the tool's input schema
 * @example
 * ```ts
 * showArguments({ note: "x".repeat(9_000), path: "/etc/passwd" }, undefined).text;
 * // {"note":"xxx" (+6078 characters),"path":"/etc/passwd"}, with more of the note
 * ```
 */
export function showArguments(args: Fields, declared: unknown): { text: string; isShortened: boolean } {
  const whole = fitting(args, MAX_SHOWN);
  if (whole !== undefined) return { text: whole, isShortened: false };
  const known = isRecord(declared) ? declared : {};
  const fields = Object.entries(args);
  const isKnown = ([name]: Field): boolean => Object.hasOwn(known, name);
  const ordered = [...fields.filter(isKnown), ...fields.filter((field) => !isKnown(field))];
  return { text: showFields(ordered, MAX_SHOWN, 0), isShortened: true };
}

const toJson = (value: unknown): string => JSON.stringify(value) ?? "undefined";

/** The whole value if it is short enough. Invisible characters are spelled out. */
function fitting(value: unknown, space: number): string | undefined {
  const json = toJson(value);
  if (json.length > space) return undefined;
  const text = visibleLine(json);
  return text.length > space ? undefined : text;
}

function show(value: unknown, space: number, depth: number): string {
  const whole = fitting(value, space);
  if (whole !== undefined) return whole;
  if (typeof value === "string") return shorten(value, space);
  if (Array.isArray(value)) {
    if (depth > MAX_DEPTH || space < MIN_VALUE + REST) return `[(+${value.length} items)]`;
    const texts = shareSpace(
      value.slice(0, Math.floor((space - REST) / MIN_VALUE)),
      space,
      (item) => lengthOf(item, space),
      (item, share) => show(item, share, depth + 1),
    );
    return `[${withRest(texts, value.length, "items")}]`;
  }
  if (!isRecord(value)) return toJson(value);
  const fields = Object.entries(value);
  return depth > MAX_DEPTH || space < MIN_FIELD + REST
    ? `{(+${fields.length} fields)}`
    : showFields(fields, space, depth);
}

function showFields(fields: readonly Field[], space: number, depth: number): string {
  const texts = shareSpace(
    fields.slice(0, Math.floor((space - REST) / MIN_FIELD)),
    space,
    ([name, value]) => showName(name).length + 1 + lengthOf(value, space),
    ([name, value], share) => {
      const shown = showName(name);
      return `${shown}:${show(value, share - shown.length - 1, depth + 1)}`;
    },
  );
  return `{${withRest(texts, fields.length, depth === 0 ? "arguments" : "fields")}}`;
}

const showName = (name: string): string => fitting(name, MAX_NAME) ?? shorten(name, MAX_NAME);

/** Exact only if the value fits. */
const lengthOf = (value: unknown, space: number): number =>
  fitting(value, space)?.length ?? toJson(value).length;

function withRest(texts: readonly string[], count: number, what: string): string {
  const missing = count - texts.length;
  return missing === 0 ? texts.join(",") : `${texts.join(",")} (+${missing} ${what})`;
}

/** Shows every entry: short ones in full, and long ones in equal parts of the space that is left. */
function shareSpace<Entry>(
  entries: readonly Entry[],
  space: number,
  measure: (entry: Entry) => number,
  display: (entry: Entry, share: number) => string,
): string[] {
  const texts: string[] = new Array(entries.length);
  const lengths = entries.map(measure);
  let left = space - REST;
  let remaining = entries.length;
  for (const index of [...entries.keys()].sort((a, b) => lengths[a]! - lengths[b]!)) {
    const text = display(entries[index]!, Math.floor(left / remaining) - 1);
    texts[index] = text;
    left -= text.length + 1;
    remaining--;
  }
  return texts;
}

/** The beginning of a text, with the number of characters that are missing. */
function shorten(text: string, space: number): string {
  const note = (kept: number): string => ` (+${text.length - kept} characters)`;
  let kept = Math.max(1, space - note(0).length - 2);
  let head = visibleLine(toJson(text.slice(0, kept)));
  // Escape sequences are longer than the characters.
  while (kept > 1 && head.length + note(kept).length > space) {
    kept = Math.floor(kept * 0.9);
    head = visibleLine(toJson(text.slice(0, kept)));
  }
  return head + note(kept);
}
