/** Asks the policy whether a call may run, and the user if the policy wants an approval. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { Relay } from "../../protocol/relay.js";
import { type Fields, isRecord } from "../../util/is-record.js";
import { badState, FAILURE_META_KEY } from "../faults.js";
import type { PolicyDecision } from "../policy/policy.js";
import type { RequestContext } from "../request-context.js";
import { resultText } from "../results.js";
import { type NextRound, sealRound } from "./request-state.js";
import { showArguments } from "./shown-arguments.js";

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
      readonly answer: string;
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
  { info, source }: CatalogEntry,
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
  const answer = await approve(context, decision, { ...approval, info, args, decide });
  // A person who approves has read the arguments too.
  return answer === undefined ? { isExact: true, isApproved: true } : { answer, isDenied: false };
}

/**
 * The error for a call that waited at its server for an answer of the client, if new rules deny it. What is read is decided about
 * before its answer comes here.
 */
export async function refusalNow({
  parts,
  client,
  request,
  facts,
}: RequestContext): Promise<ToolCallError | undefined> {
  const { server, tool, args } = facts;
  const { method } = request;
  if (parts.policy === undefined || method !== "tools/call" || server === undefined) return undefined;
  const { principal, scopes } = client;
  const { effect, reason } = await parts.policy.decide({ principal, scopes, method, server, tool, args });
  // An approval that a new rule demands would come too late: the call runs.
  if (effect !== "deny") return undefined;
  facts.outcome = "refused";
  return new ToolCallError({
    code: "REFUSED",
    server,
    what: `The gateway refused this call: ${reason ?? "the policy does not allow it"}`,
    outcome: "unknown",
  });
}

/** Asks the policy about a fallback server. An approval of the call covers it, if its server needs no other decision. */
export function fallbackRule(
  { parts, user, client }: RequestContext,
  args: Fields,
  isApproved: boolean,
): Relay["mayUse"] {
  const { policy } = parts;
  return async (server, tool) => {
    const listed = user.port.catalog.find(server, tool)?.info;
    if (listed === undefined || !parts.offers(client.principal, listed)) return false;
    const { principal, scopes } = client;
    const decision = await policy?.decide({ principal, scopes, method: "tools/call", server, tool, args });
    if (decision === undefined) return true;
    const isAllowed = decision.effect === "allow" || (isApproved && decision.effect === "approve");
    return isAllowed && (decision.readsArguments === true ? "exact" : true);
  };
}

interface AskedApproval extends ApprovalParts {
  readonly info: CatalogEntry["info"];
  readonly args: Fields;
  /** Asks the policy again. */
  decide(): PolicyDecision | Promise<PolicyDecision>;
}

async function approve(
  context: RequestContext,
  decision: PolicyDecision,
  { round, wanted, info, args, decide }: AskedApproval,
): Promise<string | undefined> {
  const { client, exchange, facts } = context;
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
  facts.outcome = "waiting";
  const inputRequests = { [APPROVAL]: { method: "elicitation/create", params } };
  const asked: NextRound = { kind: "approval", server: info.server, tool: info.sourceName };
  const requestState = sealRound(context, asked, [wanted.name, wanted.args]);
  return resultText(client, { inputRequests, requestState }, { resultType: "input_required" });
}

const takesForms = ({ elicitation }: Fields): boolean =>
  isRecord(elicitation) && (elicitation["form"] !== undefined || Object.keys(elicitation).length === 0);

function question({ name, inputSchema }: CatalogEntry["info"], args: Fields, reason = "") {
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

function refused({ client, facts }: RequestContext, { effect, reason }: PolicyDecision): string {
  facts.outcome = "refused";
  const why = reason ?? (effect === "deny" ? "the policy does not allow it" : "the call was not approved");
  return resultText(client, {
    content: [{ type: "text", text: `The gateway refused this call: ${why}` }],
    isError: true,
    _meta: { [FAILURE_META_KEY]: { code: "REFUSED", retryable: false, outcome: "unsent" } },
  });
}
