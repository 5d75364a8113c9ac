/**
 * `requestState` as clients get it: sealed, and bound to the user and the request.
 *
 * One approval releases one call. A state that continues an approved call is marked as used in the store before the call is sent, so
 * that no replica runs it a second time. A client that sends the state again gets what its first request got.
 */
import { hash } from "node:crypto";
import { canonicalJson, type Fields, isRecord } from "@toolport/base";
import {
  HeldRecord,
  isAbandoned,
  type LeasedRecord,
  type RecordAccess,
  type Store,
  withLease,
} from "@toolport/stores";
import type { AuditOutcome } from "../audit/open-audit.js";
import {
  badState,
  type Fault,
  internalFault,
  restoreFault,
  type SavedFault,
  SOON,
  saveFault,
  storeAway,
} from "../faults.js";
import type { ClientRequest, GatewayClient } from "../message.js";
import {
  type CallOutcome,
  FailedRequest,
  failureOf,
  type GatewayParts,
  type Handled,
  type RequestContext,
} from "../request-context.js";
import { resultText, toText } from "../results.js";

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

/**
 * The result that asks the client something. Its next request continues with this round.
 *
 * @param identity what the request is about, e.g. the name and the arguments of a tool
 */
export function askInResult(
  { parts, client, request }: RequestContext,
  round: NextRound,
  identity: unknown,
  fields: Fields,
): Handled {
  const requestState = parts.seal.seal(PURPOSE, {
    n: round,
    p: client.principal,
    m: request.method,
    d: digestOf({ parts }, identity),
    exp: Date.now() + parts.stateTtlMs,
  });
  const json = resultText(client, { ...fields, requestState }, { resultType: "input_required" });
  return { json, facts: { outcome: "waiting" } };
}

/** The same for a question of a server. The next round goes to it. */
export function passQuestion(
  context: RequestContext,
  { fields, server }: Pick<CallOutcome, "fields" | "server">,
  identity: unknown,
  isApproved?: boolean,
): Handled {
  const { requestState } = fields;
  const state = typeof requestState === "string" ? requestState : undefined;
  return askInResult(context, { kind: "server", server, state, isApproved }, identity, fields);
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

/** The mark of a used state. */
interface UsedState extends LeasedRecord {
  readonly format: 1;
  /** Hash of the answers that the client sent with it. */
  readonly answers: string;
  /** What the request got. Undefined while the call runs. */
  readonly end?: CallEnd | undefined;
}

/** Without a text and a fault it was too large to be kept. */
interface CallEnd {
  readonly outcome: AuditOutcome;
  /** The JSON of the result. */
  readonly text?: string | undefined;
  readonly fault?: SavedFault | undefined;
}

const PREFIX = "serve/used/";
/** Larger results are not kept: they are in the store until the state expires. */
const MAX_KEPT_CHARS = 65_536;
/** A mark outlives its state by more than the clocks of two replicas and of the store may differ. */
const SPARE_MS = 180_000;

/** Whether a person has approved the call that this state continues. */
export const isApprovedRound = (round: OpenedRound): boolean =>
  round.kind === "approval" || (round.kind !== "parked" && round.isApproved === true);

/**
 * Runs the call if its state was not used before; otherwise waits for the end of the first request, and gives the same. Throws
 * without running it if the store fails.
 */
export async function runOnce(
  context: RequestContext,
  { text: state, expiresAt }: OpenedRound,
  run: () => Handled | Promise<Handled>,
): Promise<Handled> {
  const { parts, user, client, request } = context;
  const marks = marksIn(parts.store);
  const key = PREFIX + hashOf(state);
  const answers = hashOf(canonicalJson(request.params["inputResponses"] ?? null));
  const held = await mark(context, marks, { key, answers, expiresAt: expiresAt + SPARE_MS });
  if (held === undefined) return repeat(context, marks, { key, answers });
  const mayKeep = (json: string) =>
    json.length <= MAX_KEPT_CHARS && parts.users.mayWrite(user.principal, "keptChars", json.length);
  let end: CallEnd = { outcome: "error" };
  try {
    const handled = await run();
    const { outcome = "ok" } = handled.facts ?? {};
    const text = toText(handled.json);
    end = mayKeep(text) ? { outcome, text } : { outcome };
    return handled;
  } catch (error) {
    const { reason, facts } = failureOf(error);
    const fault = saveFault(reason, client.era);
    const { outcome = "error" } = facts;
    end = mayKeep(JSON.stringify(fault)) ? { outcome, fault } : { outcome };
    throw error;
  } finally {
    // The result must not be lost because the store fails now. Without it the outcome is unknown to later requests.
    await held.replace({ ...held.record, end }).catch(parts.report);
  }
}

/** Undefined if the state was used before. The mark is durable when this resolves. */
async function mark(
  { parts, user }: RequestContext,
  marks: RecordAccess<UsedState>,
  { key, answers, expiresAt }: { key: string; answers: string; expiresAt: number },
): Promise<HeldRecord<UsedState> | undefined> {
  if (!parts.users.mayWrite(user.principal, "mark")) {
    if ((await marks.read(key).catch(throwStoreAway)) !== undefined) return undefined;
    throw tooManyApprovals();
  }
  const holder = crypto.randomUUID();
  const record = withLease<UsedState>({ format: 1, answers, holder, expiresAt });
  const version = await marks.put(key, record, 0).catch(throwStoreAway);
  return version === undefined ? undefined : new HeldRecord(marks, { key, version, record });
}

/** What the first request with the state got. */
async function repeat(
  { exchange }: RequestContext,
  marks: RecordAccess<UsedState>,
  { key, answers }: { key: string; answers: string },
): Promise<Handled> {
  const read = () => marks.read(key).catch(throwStoreAway);
  for (;;) {
    const found = await read();
    // Other answers are another request, which the result does not belong to.
    if (found === undefined || found.record.answers !== answers) throw badState();
    const { end } = found.record;
    if (end === undefined) {
      if (await isAbandoned(found, read, exchange.signal)) throw lostOutcome();
      continue;
    }
    const facts = { outcome: end.outcome, code: "REPEATED" };
    if (end.fault !== undefined) throw new FailedRequest(restoreFault(end.fault), facts);
    if (end.text === undefined) throw new FailedRequest(badState(), facts);
    return { json: end.text, facts };
  }
}

const marksIn = (store: Store): RecordAccess<UsedState> => ({
  async read(key) {
    const stored = await store.get(key);
    if (stored === undefined) return undefined;
    const { value, version, sealed } = stored;
    const isOurs = (value as UsedState | null)?.format === 1 && (sealed || store.sealed !== true);
    return { key, version, record: isOurs ? (value as UsedState) : FOREIGN };
  },
  put(key, record, ifVersion) {
    const ttlMs = Math.max(1, record.expiresAt - Date.now());
    return store.put(key, record, { ifVersion, ttlMs, secret: true });
  },
  delete: (key, ifVersion) => store.delete(key, { ifVersion }),
});

/** A mark that no replica of this version wrote: it still says that the state was used, but its result is not given to anyone. */
const FOREIGN: UsedState = { format: 1, answers: "", expiresAt: 0 };

const hashOf = (text: string): string => hash("sha256", text, "base64url");

/** Nothing was sent by this request. An earlier one may have used the state. */
function throwStoreAway(): never {
  throw storeAway();
}

/** The replica that ran the call is gone, or could not save the result. The call is never repeated. */
const lostOutcome = (): Fault =>
  internalFault(
    "The call was sent, and its result was lost, so its outcome is unknown. Find out whether the tool ran before you call it again",
    { code: "OUTCOME_UNKNOWN", retryable: false, outcome: "unknown" },
  );

const tooManyApprovals = (): Fault =>
  internalFault(
    "Too many approved calls of one user. Nothing was sent: try again later",
    { code: "FULL", retryable: true, outcome: "unsent" },
    { status: 429, headers: SOON },
  );
