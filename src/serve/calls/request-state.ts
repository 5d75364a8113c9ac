/** `requestState` as clients get it: sealed, and bound to the user and the request. */
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import { badState } from "../faults.js";
import { isFields } from "../message.js";
import type { RequestContext } from "../request-context.js";

/** What continues with the next request of the client. */
export type NextRound =
  /** The server gave this state, or none. */
  | ({ readonly kind: "server"; readonly server: string; readonly state?: string | undefined } & Approved)
  /** A call is parked on a replica. */
  | { readonly kind: "parked"; readonly replica: string; readonly id: string }
  /** The user was asked for an approval of the gateway. */
  | { readonly kind: "approval" }
  /** The user had to log in to a server. */
  | ({ readonly kind: "login"; readonly server: string } & Approved);

interface Approved {
  /** A person has approved the call before. */
  readonly isApproved?: boolean | undefined;
}

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

/** Undefined without a state. Rejects with the same error for whatever is wrong with it. */
export async function openRound(
  { parts, client, request }: RequestContext,
  identity: unknown,
): Promise<NextRound | undefined> {
  const { requestState } = request.params;
  if (requestState === undefined) return undefined;
  const opened =
    typeof requestState === "string" ? await parts.seal.openFresh(PURPOSE, requestState) : undefined;
  if (!isFields(opened)) throw badState();
  const { n, p, m, d } = opened;
  if (p !== client.principal || m !== request.method || typeof d !== "string") throw badState();
  if (d !== digestOf({ parts }, identity, d)) throw badState();
  return n as NextRound;
}

/** @param like an earlier digest, whose key is used */
const digestOf = ({ parts }: Pick<RequestContext, "parts">, identity: unknown, like?: string): string =>
  parts.seal.mac("request", canonicalJson(identity), like);
