/** `requestState` as clients get it: sealed, and bound to the user and the request. */
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import { isRecord } from "../../util/json.js";
import type { GatewayClient } from "../client.js";
import { badState } from "../faults.js";
import type { ClientRequest } from "../message.js";
import type { CallOutcome, GatewayParts, RequestContext } from "../request-context.js";
import { resultText } from "../results.js";

/** What continues with the next request of the client. */
export type NextRound =
  /** The server gave this state, or none. */
  | ({ readonly kind: "server"; readonly server: string; readonly state?: string | undefined } & Approved)
  /** A call is parked on a replica. */
  | { readonly kind: "parked"; readonly replica: string; readonly id: string }
  /** The user was asked for an approval of this tool. */
  | { readonly kind: "approval"; readonly server: string; readonly tool: string }
  /** The user had to log in to a server. */
  | ({ readonly kind: "login"; readonly server: string } & Approved);

interface Approved {
  /** A person has approved the call before. */
  readonly isApproved?: boolean | undefined;
}

/** A round as the client sent it back. */
export type OpenedRound = NextRound & {
  /** The sealed text. Only the exact text that was sealed can be opened. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
};

const PURPOSE = "state";

/** @param identity what the request is about, e.g. the name and the arguments of a tool */
export function sealRound(
  { parts, client, request }: RequestContext,
  round: NextRound,
  identity: unknown,
): string {
  return parts.seal.seal(PURPOSE, {
    n: round,
    p: client.principal,
    m: request.method,
    d: digestOf({ parts }, identity),
    exp: Date.now() + parts.stateTtlMs,
  });
}

/** The result for a request whose server asks something. The next round goes to the same server. */
export function sealQuestion(
  context: RequestContext,
  { fields, server, resultType }: CallOutcome,
  identity: unknown,
  isApproved?: boolean,
): string {
  const { requestState } = fields;
  const state = typeof requestState === "string" ? requestState : undefined;
  const sealed = sealRound(context, { kind: "server", server, state, isApproved }, identity);
  context.facts.outcome = "waiting";
  return resultText(context.client, { ...fields, requestState: sealed }, { resultType });
}

/**
 * Undefined without a state, and for legacy clients: their revisions have none, so it is only an unknown field. Rejects with the same
 * error for whatever is wrong with it.
 */
export async function openRound(
  { parts, client, request }: RequestContext,
  identity: unknown,
): Promise<OpenedRound | undefined> {
  const { requestState: text } = request.params;
  if (text === undefined || client.era === "legacy") return undefined;
  const opened = typeof text === "string" ? await parts.seal.openFresh(PURPOSE, text) : undefined;
  if (!isRecord(opened)) throw badState();
  const { n, p, m, d, exp } = opened;
  if (p !== client.principal || m !== request.method || typeof d !== "string") throw badState();
  if (d !== digestOf({ parts }, identity, d)) throw badState();
  return { ...(n as NextRound), text: text as string, expiresAt: exp as number };
}

/** Whether a request answers a call that is parked on this replica. Whatever else is wrong with its state is found later. */
export async function answersParked(
  { seal, parked }: GatewayParts,
  { principal, era }: GatewayClient,
  { params: { requestState } }: ClientRequest,
): Promise<boolean> {
  if (era === "legacy" || typeof requestState !== "string") return false;
  const opened = await seal.openFresh(PURPOSE, requestState);
  if (!isRecord(opened) || opened["p"] !== principal) return false;
  const round = opened["n"] as NextRound;
  return round.kind === "parked" && parked.has(round.id);
}

/** @param like an earlier digest, whose key is used */
const digestOf = ({ parts }: Pick<RequestContext, "parts">, identity: unknown, like?: string): string =>
  parts.seal.mac("request", canonicalJson(identity), like);
