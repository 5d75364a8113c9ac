/**
 * One approval releases one call. A state that continues an approved call is marked as used in the store before the call is sent, so
 * that no replica runs it a second time. A client that sends the state again gets what its first request got.
 */
import { hash } from "node:crypto";
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import {
  HeldRecord,
  isAbandoned,
  type LeasedRecord,
  type RecordAccess,
  withLease,
} from "../../port/suspensions/held-record.js";
import type { Store } from "../../state/store.js";
import { badState, Fault, type FaultInit, INTERNAL_ERROR, storeAway, toFault } from "../faults.js";
import type { RequestContext, RequestFacts } from "../request-context.js";
import type { OpenedRound } from "./request-state.js";

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
  readonly outcome?: RequestFacts["outcome"];
  /** The JSON of the result. */
  readonly text?: string | undefined;
  readonly fault?: FaultInit | undefined;
}

const PREFIX = "serve/used/";
/** Larger results are not kept: they are in the store until the state expires. */
const MAX_KEPT_CHARS = 65_536;
/** A mark outlives its state by more than the clocks of two replicas and of the store may differ. */
const SPARE_MS = 180_000;

/** Whether a person has approved the call that this state continues. */
export const isApprovedRound = (round: OpenedRound | undefined): round is OpenedRound =>
  round !== undefined &&
  (round.kind === "approval" || (round.kind !== "parked" && round.isApproved === true));

/**
 * Runs the call if its state was not used before; otherwise waits for the end of the first request, and gives the same. Throws
 * without running it if the store fails.
 */
export async function runOnce(
  context: RequestContext,
  { text: state, expiresAt }: OpenedRound,
  run: () => string | Promise<string>,
): Promise<string> {
  const { parts, user, client, facts, request } = context;
  const marks = marksIn(parts.store);
  const key = PREFIX + hashOf(state);
  const answers = hashOf(canonicalJson(request.params["inputResponses"] ?? null));
  const held = await mark(context, marks, { key, answers, expiresAt: expiresAt + SPARE_MS });
  if (held === undefined) return repeat(context, marks, { key, answers });
  const mayKeep = (json: string) => json.length <= MAX_KEPT_CHARS && parts.users.mayKeep(user, json.length);
  let end: CallEnd = {};
  try {
    const text = await run();
    if (typeof text === "string" && mayKeep(text)) end = { text };
    return text;
  } catch (error) {
    const { code, message, data, status } = toFault(error, client.era);
    const fault = { code, message, data, status };
    if (mayKeep(JSON.stringify(fault))) end = { fault };
    throw error;
  } finally {
    const outcome = facts.outcome ?? "error";
    // The result must not be lost because the store fails now. Without it the outcome is unknown to later requests.
    await held.replace({ ...held.record, end: { ...end, outcome } }).catch(parts.report);
  }
}

/** Undefined if the state was used before. The mark is durable when this resolves. */
async function mark(
  { parts, user }: RequestContext,
  marks: RecordAccess<UsedState>,
  { key, answers, expiresAt }: { key: string; answers: string; expiresAt: number },
): Promise<HeldRecord<UsedState> | undefined> {
  if (!parts.users.mayMark(user)) {
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
  { exchange, facts }: RequestContext,
  marks: RecordAccess<UsedState>,
  { key, answers }: { key: string; answers: string },
): Promise<string> {
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
    facts.outcome = end.outcome;
    facts.errorCode = "REPEATED";
    if (end.fault !== undefined) throw new Fault(end.fault);
    if (end.text === undefined) throw badState();
    return end.text;
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
  new Fault({
    code: INTERNAL_ERROR,
    message:
      "The call was sent, and its result was lost, so its outcome is unknown. Find out whether the tool ran before you call it again",
    data: { code: "OUTCOME_UNKNOWN", retryable: false, outcome: "unknown" },
  });

const tooManyApprovals = (): Fault =>
  new Fault({
    code: INTERNAL_ERROR,
    message: "Too many approved calls of one user. Nothing was sent: try again later",
    data: { code: "FULL", retryable: true, outcome: "unsent" },
    status: 429,
    headers: { "retry-after": "1" },
  });
