/**
 * Runs a request that may be parked: if a legacy server asks a modern client something, the request ends with the question, and a
 * later request of the client brings the answer, on this replica or another one.
 */
import { type Fields, isRecord, StateError } from "@toolport/base";
import {
  badState,
  type Fault,
  internalFault,
  restoreFault,
  type SavedFault,
  saveFault,
  storeAway,
} from "../faults.js";
import type { AskClient } from "../message.js";
import { MessageError } from "../replicas/mailbox.js";
import {
  type CallOutcome,
  FailedRequest,
  failureOf,
  type Handled,
  type OpenCall,
  type Parkable,
  type RequestContext,
  type RequestFacts,
  withFacts,
} from "../request-context.js";
import { toText } from "../results.js";
import { refusalNow } from "./decide-call.js";
import { InterruptibleCall, type Question, shownParams } from "./parked-calls.js";
import { askInResult, type NextRound } from "./request-state.js";

export async function runParkable(context: RequestContext, parkable: Parkable): Promise<Handled> {
  const { client, exchange } = context;
  if (client.era === "legacy" || client.capabilityKey === "") {
    try {
      const outcome = await parkable.run(exchange.signal, undefined);
      return await parkable.finish(context, outcome);
    } catch (error) {
      return parkable.fail(context, error);
    }
  }
  const call = new InterruptibleCall<CallOutcome>(parkable.inputResponses);
  const controller = new AbortController();
  const ask: AskClient = ({ method, params }, signal) => call.ask(method, params, signal);
  call.start(() => parkable.run(controller.signal, ask));
  return nextStep(context, { call, parkable, abandon: (reason) => controller.abort(reason) });
}

async function nextStep(context: RequestContext, open: OpenCall): Promise<Handled> {
  const { signal } = context.exchange;
  const { parkable, abandon } = open;
  const onAbort = () => abandon(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const step = await open.call.next();
  signal.removeEventListener("abort", onAbort);
  if ("questions" in step) return park(context, open, step.questions);
  try {
    if ("error" in step) throw step.error;
    return await parkable.finish(context, step.result);
  } catch (error) {
    return parkable.fail(context, error);
  }
}

/** Ends the request of the client with questions. */
function park(
  context: RequestContext,
  open: OpenCall,
  questions: Readonly<Record<string, Question>>,
): Handled {
  const { parts, user, bodyBytes, client } = context;
  const { principal } = client;
  const id = crypto.randomUUID();
  // The answer may reach another replica, which sends it here.
  const stop = parts.mailbox.receive(
    id,
    (body, { signal }) =>
      answerForOther({ ...context, exchange: silentExchange(signal) }, id, body as ParkedAnswer),
    { principal },
  );
  const letGo = parts.users.park(user, bodyBytes);
  const onTaken = () => {
    stop();
    letGo();
  };
  parts.parked.add(id, { open, questions, principal, onTaken });
  const inputRequests = Object.entries(questions).map(([key, { method, params }]) => [
    key,
    // JSON leaves undefined parameters out.
    { method, params: shownParams(params) },
  ]);
  const round: NextRound = { kind: "parked", replica: parts.mailbox.replica, id };
  const fields = { inputRequests: Object.fromEntries(inputRequests) };
  return askInResult(context, round, open.parkable.identity, fields);
}

/** What the replica that got the answer sends to the one that has the call. */
interface ParkedAnswer {
  readonly answers: Fields;
  /** Those of the client's token now. */
  readonly scopes: readonly string[];
}

/** What a replica replies to the one that got the answer. */
type ParkedReply = {
  /** For the audit log of the replica that has the request. */
  readonly facts?: RequestFacts | undefined;
} & ({ readonly text: string } | { readonly fault: SavedFault });

/** Brings answers to a parked request, here or on another replica. */
export async function answerParked(
  context: RequestContext,
  { replica, id }: Extract<NextRound, { kind: "parked" }>,
  answers: Fields,
): Promise<Handled> {
  const { parts, client, exchange } = context;
  if (replica === parts.mailbox.replica) return answerHere(context, id, answers);
  const { principal, scopes } = client;
  const body: ParkedAnswer = { answers, scopes };
  const from = { principal, signal: exchange.signal };
  let reply: ParkedReply;
  try {
    reply = (await parts.mailbox.send(replica, id, body, from)) as ParkedReply;
  } catch (error) {
    if (StateError.isInstance(error)) throw storeAway();
    // The owner knows nothing of the call: it was answered before, or its time is over.
    throw error instanceof MessageError && error.code === "UNKNOWN_MESSAGE" ? badState() : lost(error);
  }
  const { facts = {} } = reply;
  if ("fault" in reply) throw new FailedRequest(restoreFault(reply.fault), facts);
  return { json: reply.text, facts };
}

/** The replica that had the call is gone, so its outcome is unknown. It is never repeated. */
const lost = (error: unknown): Fault =>
  internalFault("The replica that waited for this answer is gone; the outcome of the call is unknown", {
    code: error instanceof MessageError ? error.code : "CLOSED",
    retryable: false,
    outcome: "unknown",
  });

async function answerForOther(
  context: RequestContext,
  id: string,
  { answers, scopes }: ParkedAnswer,
): Promise<ParkedReply> {
  const client = { ...context.client, scopes };
  // The request of the client counts on the other replica.
  const letGo = context.parts.users.occupy(client.principal);
  try {
    const { json, facts } = await answerHere({ ...context, client }, id, answers);
    return { text: toText(json), facts };
  } catch (error) {
    const { reason, facts } = failureOf(error);
    return { fault: saveFault(reason, context.client.era), facts };
  } finally {
    letGo();
  }
}

/** Continues a request that is parked on this replica. */
function answerHere(context: RequestContext, id: string, answers: Fields): Promise<Handled> {
  const parked = context.parts.parked.take(id, context.client.principal);
  if (parked === undefined) throw badState();
  const { open, questions } = parked;
  const { parkable } = open;
  return withFacts(parkable.facts, async () => {
    const refusal = await refusalNow(context, parkable.facts);
    if (refusal !== undefined) {
      open.abandon(refusal);
      return parkable.fail(context, refusal);
    }
    for (const [key, question] of Object.entries(questions)) {
      const answer = answers[key];
      if (isRecord(answer)) question.answer(answer);
      else open.call.askAgain(question);
    }
    return nextStep(context, open);
  });
}

/** The way back to a replica that only waits for the result. */
const silentExchange = (signal: AbortSignal): RequestContext["exchange"] => ({
  signal,
  header: undefined,
  notify() {},
  ask: undefined,
  hold: undefined,
});
