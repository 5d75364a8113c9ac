/**
 * Runs a request that may be parked: if a legacy server asks a modern client something, the request ends with the question, and a
 * later request of the client brings the answer, on this replica or another one.
 */
import { StateError } from "../../errors/toolport-error.js";
import { type Fields, isRecord } from "../../util/json.js";
import type { AskClient } from "../client.js";
import { badState, Fault, storeAway, toFault } from "../faults.js";
import { LetterError } from "../replicas/letter.js";
import type { CallOutcome, OpenCall, Parkable, RequestContext, RequestFacts } from "../request-context.js";
import { resultText } from "../results.js";
import { refusalNow } from "./decide-call.js";
import { InterruptibleCall, type Question, shownParams } from "./parked-calls.js";
import { type NextRound, sealRound } from "./request-state.js";

export async function runParkable(context: RequestContext, parkable: Parkable): Promise<string> {
  const { client, exchange, facts } = context;
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
  const answer: AskClient = ({ method, params }, signal) => call.ask(method, params, signal);
  call.start(() => parkable.run(controller.signal, answer));
  return nextStep(context, { call, parkable, facts, abandon: (reason) => controller.abort(reason) });
}

async function nextStep(context: RequestContext, open: OpenCall): Promise<string> {
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
): string {
  const { parts, user, bodyBytes, facts, client } = context;
  const { principal } = client;
  const id = crypto.randomUUID();
  // The answer may reach another replica, which sends it here.
  const stop = parts.mailbox.receive(
    id,
    (body, { signal }) =>
      answerForOther({ ...context, exchange: silentExchange(signal), facts: {} }, id, body as ParkedAnswer),
    { principal },
  );
  const letGo = parts.users.park(user, bodyBytes);
  const onTaken = () => {
    stop();
    letGo();
  };
  parts.parked.add(id, { open, questions, principal, onTaken });
  facts.outcome = "waiting";
  const inputRequests = Object.entries(questions).map(([key, { method, params }]) => {
    const shown = shownParams(params);
    return [key, { method, ...(shown !== undefined && { params: shown }) }];
  });
  const round: NextRound = { kind: "parked", replica: parts.mailbox.replica, id };
  const requestState = sealRound(context, round, open.parkable.identity);
  const fields = { inputRequests: Object.fromEntries(inputRequests), requestState };
  return resultText(client, fields, { resultType: "input_required" });
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
} & ({ readonly text: string } | { readonly fault: Pick<Fault, "code" | "message" | "data" | "status"> });

/** Brings answers to a parked request, here or on another replica. */
export async function answerParked(
  context: RequestContext,
  { replica, id }: Extract<NextRound, { kind: "parked" }>,
  answers: Fields,
): Promise<string> {
  const { parts, client, exchange } = context;
  if (replica === parts.mailbox.replica) return answerHere(context, id, answers);
  const { principal, scopes } = client;
  let reply: ParkedReply;
  try {
    const body: ParkedAnswer = { answers, scopes };
    reply = (await parts.mailbox.send(replica, id, body, {
      principal,
      signal: exchange.signal,
    })) as ParkedReply;
  } catch (error) {
    if (StateError.isInstance(error)) throw storeAway();
    // The owner knows nothing of the call: it was answered before, or its time is over.
    throw error instanceof LetterError && error.code === "UNKNOWN_LETTER" ? badState() : lost(error);
  }
  Object.assign(context.facts, reply.facts);
  if ("fault" in reply) throw new Fault(reply.fault);
  return reply.text;
}

/** The replica that had the call is gone, so its outcome is unknown. It is never repeated. */
const lost = (error: unknown): Fault =>
  new Fault({
    code: -32603,
    message: "The replica that waited for this answer is gone; the outcome of the call is unknown",
    data: {
      code: error instanceof LetterError ? error.code : "CLOSED",
      retryable: false,
      outcome: "unknown",
    },
  });

async function answerForOther(
  context: RequestContext,
  id: string,
  { answers, scopes }: ParkedAnswer,
): Promise<ParkedReply> {
  const { facts } = context;
  const client = { ...context.client, scopes };
  // The request of the client counts on the other replica.
  const letGo = context.parts.users.occupy(client.principal);
  try {
    return { text: await answerHere({ ...context, client }, id, answers), facts };
  } catch (error) {
    const { code, message, data, status } = toFault(error, context.client.era);
    return { fault: { code, message, data, status }, facts };
  } finally {
    letGo();
  }
}

/** Continues a request that is parked on this replica. */
async function answerHere(context: RequestContext, id: string, answers: Fields): Promise<string> {
  const parked = context.parts.parked.take(id, context.client.principal);
  if (parked === undefined) throw badState();
  const { server, tool, definition, args } = parked.open.facts;
  Object.assign(context.facts, { server, tool, definition, args });
  const refusal = await refusalNow(context);
  if (refusal !== undefined) {
    parked.open.abandon(refusal);
    return parked.open.parkable.fail(context, refusal);
  }
  for (const [key, question] of Object.entries(parked.questions)) {
    const answer = answers[key];
    if (isRecord(answer)) question.answer(answer);
    else parked.open.call.askAgain(question);
  }
  return nextStep(context, parked.open);
}

/** The way back to a replica that only waits for the result. */
const silentExchange = (signal: AbortSignal): RequestContext["exchange"] => ({
  signal,
  header: undefined,
  notify() {},
  ask: undefined,
  hold: undefined,
});
