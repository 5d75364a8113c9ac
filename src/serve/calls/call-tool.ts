/** `tools/call`: resolves the public name, asks the policy, and passes the call on. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { AuthError } from "../../errors/auth-error.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Relay } from "../../protocol/relay.js";
import { badState, Fault, INTERNAL_ERROR, invalidParams, isRpcFailure, toFailedResult } from "../faults.js";
import { resourceNames } from "../lists/list-handlers.js";
import { hasUris, renameUris } from "../lists/resource-names.js";
import { type Fields, isFields } from "../message.js";
import { LetterError } from "../replicas/letter.js";
import type { RequestContext } from "../request-context.js";
import { resultText } from "../results.js";
import { askForLogin, askForPages } from "./ask-for-login.js";
import { checkParamHeaders } from "./check-param-headers.js";
import { decideCall } from "./decide-call.js";
import { callOwnTool } from "./own-tools.js";
import { InterruptibleCall, type Question, shownParams } from "./parked-calls.js";
import { argumentsOf, createRelay, isTooFar, nextHop, passedRequestMeta, progressOf } from "./relayed.js";
import { type NextRound, openRound, sealRound } from "./request-state.js";
import { sealTaskIds } from "./task-ids.js";

/** The end of a call: a result of a server or of Toolport. */
export interface CallOutcome {
  readonly fields: Fields;
  /** The server that answered. */
  readonly server: string;
  readonly resultType?: string | undefined;
}

interface WantedCall {
  readonly name: string;
  readonly args: Fields;
  readonly inputResponses: Fields | undefined;
}

export async function callTool(context: RequestContext): Promise<string> {
  const { client, facts } = context;
  const wanted = readCall(context.request.params);
  const identity = [wanted.name, wanted.args];
  facts.tool = wanted.name;
  facts.args = wanted.args;
  try {
    const round = openRound(context, identity);
    if (round?.kind === "parked") return await answerParked(context, round, wanted);
    return await resolveAndRun(context, wanted, round);
  } catch (error) {
    const asked =
      error instanceof AuthError
        ? askForLogin(context, error, identity)
        : askForPages(context, error, identity);
    if (asked !== undefined) return asked;
    facts.outcome = "error";
    facts.errorCode = toToolportError(error).code;
    if (isRpcFailure(error)) throw error;
    return resultText(client, toFailedResult(error));
  }
}

function readCall({ name, arguments: given, inputResponses }: Fields): WantedCall {
  const args = argumentsOf(given);
  if (typeof name !== "string" || name === "") throw invalidParams("The name of the tool is missing");
  if (args === undefined) throw invalidParams("The arguments of the tool are not an object");
  if (inputResponses !== undefined && !isFields(inputResponses))
    throw invalidParams("inputResponses is not an object");
  return { name, args, inputResponses };
}

async function resolveAndRun(
  context: RequestContext,
  wanted: WantedCall,
  round: NextRound | undefined,
): Promise<string> {
  const hops = nextHop(context.request.params);
  if (isTooFar(hops)) throw tooFar();
  const { port } = context.user;
  const { signal } = context.exchange;
  // A tool of the port itself: `call_tool` names another tool, which the policy decides about.
  const target =
    port.catalog.entry(wanted.name) === undefined ? port.own.targetOf(wanted.name, wanted.args) : wanted;
  if (target === undefined) {
    const calling = callOwnTool(context, wanted.name, wanted.args);
    if (calling !== undefined) return ownResult(context, await calling);
  }
  const { name, args } = target ?? wanted;
  const entry = port.catalog.entry(name) ?? (await port.findForCall(name, { signal }));
  noteFacts(context, entry, args);
  if (!context.parts.offers(context.client.principal, entry.info)) throw unknownTool(wanted.name);
  if (target === wanted) checkParamHeaders(context, entry, args);
  const decided = await decideCall(context, entry, args, { round, wanted });
  if ("answer" in decided) return decided.answer;
  return run(context, entry, args, { wanted, round, hops, isExact: decided.isExact });
}

interface RunOptions {
  readonly wanted: WantedCall;
  readonly round: NextRound | undefined;
  readonly hops: number;
  /** The policy has read these arguments, so they must not be repaired. */
  readonly isExact: boolean;
}

/** Runs the call. A question of a legacy server to a modern client ends the request; the call stays open. */
async function run(
  context: RequestContext,
  entry: CatalogEntry,
  args: Fields,
  { wanted, round, hops, isExact }: RunOptions,
): Promise<string> {
  const { client, exchange, request, parts } = context;
  const isParkable = client.era === "modern" && client.capabilityKey !== "";
  const call = isParkable ? new InterruptibleCall<CallOutcome>(wanted.inputResponses) : undefined;
  const controller = call && new AbortController();
  const state = round?.kind === "server" ? round.state : undefined;
  if (round?.kind === "server" && round.server !== entry.info.server) throw badState();
  const isAnswer = round === undefined || round.kind === "server";
  const relay = createRelay(context, {
    inputResponses: isAnswer ? wanted.inputResponses : undefined,
    requestState: state,
    task: client.era === "legacy" && isFields(request.params["task"]) ? request.params["task"] : undefined,
    answer: call && ((question, signal) => call.ask(question.method, question.params, signal)),
  });
  const options = {
    signal: controller?.signal ?? exchange.signal,
    onProgress: progressOf(context),
    meta: passedRequestMeta(request.params, { baggage: parts.baggage, hops }),
    ...(isExact && { checkArguments: "strict" as const }),
  };
  const start = async (): Promise<CallOutcome> =>
    outcomeOf(await context.user.port.run(entry, args, options as never, { relay }), relay);
  if (call === undefined) return finish(context, await start(), wanted);
  const abandon = (reason: unknown) => controller!.abort(reason);
  call.start(start);
  return nextStep(context, call, { wanted, abandon });
}

interface OpenCall {
  readonly wanted: WantedCall;
  readonly abandon: (reason: unknown) => void;
}

async function nextStep(
  context: RequestContext,
  call: InterruptibleCall<CallOutcome>,
  { wanted, abandon }: OpenCall,
): Promise<string> {
  const { signal } = context.exchange;
  const onAbort = () => abandon(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const step = await call.next();
  signal.removeEventListener("abort", onAbort);
  if ("error" in step) throw step.error;
  if ("result" in step) return finish(context, step.result, wanted);
  return park(context, call, { wanted, abandon, questions: step.questions });
}

/** Ends the request with questions; the next request of the client brings the answers. */
function park(
  context: RequestContext,
  call: InterruptibleCall<CallOutcome>,
  { wanted, abandon, questions }: OpenCall & { questions: Readonly<Record<string, Question>> },
): string {
  const { parts, facts, client } = context;
  const { principal } = client;
  const id = crypto.randomUUID();
  // The answer may reach another replica, which sends it here.
  const onTaken = parts.mailbox.receive(
    id,
    async (body, { signal }) =>
      answerHere({ ...context, exchange: silentExchange(signal), facts: {} }, id, body, wanted),
    { principal },
  );
  parts.parked.add(id, { call, questions, principal, abandon, onTaken });
  facts.outcome = "waiting";
  const inputRequests = Object.entries(questions).map(([key, { method, params }]) => {
    const shown = shownParams(params);
    return [key, { method, ...(shown !== undefined && { params: shown }) }];
  });
  const round: NextRound = { kind: "parked", replica: parts.mailbox.replica, id };
  return resultText(
    context.client,
    {
      inputRequests: Object.fromEntries(inputRequests),
      requestState: sealRound(context, round, [wanted.name, wanted.args]),
    },
    undefined,
    "input_required",
  );
}

/** Brings an answer to a parked call, here or on another replica. */
async function answerParked(
  context: RequestContext,
  { replica, id }: Extract<NextRound, { kind: "parked" }>,
  wanted: WantedCall,
): Promise<string> {
  const { parts, client, exchange } = context;
  const answers = wanted.inputResponses ?? {};
  if (replica === parts.mailbox.replica) return answerHere(context, id, answers, wanted);
  const { principal } = client;
  try {
    const reply = await parts.mailbox.send(replica, id, answers, { principal, signal: exchange.signal });
    return reply as string;
  } catch (error) {
    if (error instanceof LetterError && error.code === "UNKNOWN_LETTER") throw badState();
    throw error;
  }
}

/** Continues a call that is parked on this replica. */
async function answerHere(
  context: RequestContext,
  id: string,
  answers: unknown,
  wanted: WantedCall,
): Promise<string> {
  const parked = context.parts.parked.take(id, context.client.principal);
  if (parked === undefined) throw badState();
  const given = isFields(answers) ? answers : {};
  for (const [key, question] of Object.entries(parked.questions)) {
    const answer = given[key];
    if (isFields(answer)) question.answer(answer);
    else parked.call.askAgain(question);
  }
  return nextStep(context, parked.call, { wanted, abandon: parked.abandon });
}

/** The way back to a replica that only waits for the result. */
const silentExchange = (signal: AbortSignal): RequestContext["exchange"] => ({
  signal,
  header: undefined,
  notify() {},
  ask: undefined,
  hold: undefined,
});

/** The result as the server sent it, unless a later step of the pipeline has changed it. */
function outcomeOf(result: ToolResult, relay: Relay): CallOutcome {
  const { raw, server = result.server } = relay;
  if (relay.isInputRequired === true && raw !== undefined) {
    const { resultType: _, ...fields } = raw;
    return { fields, server, resultType: "input_required" };
  }
  const { content, structuredContent, isError, _meta } = result;
  const made = { content, ...(structuredContent !== undefined && { structuredContent }), isError };
  if (raw === undefined) return { fields: { ...made, ...(_meta && { _meta }) }, server: result.server };
  const { resultType, ...fields } = raw;
  if (resultType !== undefined) return { fields, server, resultType: resultType as string };
  const isSame = isUnchanged(result, raw);
  return { fields: isSame ? raw : { ...raw, ...made, ...(_meta && { _meta }) }, server };
}

function isUnchanged({ content, structuredContent }: ToolResult, raw: Fields): boolean {
  if (structuredContent !== raw["structuredContent"]) return false;
  const given = raw["content"];
  if (!Array.isArray(given) || given.length !== content.length) return false;
  return content.every((block, index) => block === given[index]);
}

async function finish(
  context: RequestContext,
  { fields, server, resultType }: CallOutcome,
  { name, args }: WantedCall,
): Promise<string> {
  const { client, facts } = context;
  facts.server = server;
  if (resultType === "input_required") {
    facts.outcome = "waiting";
    const { requestState } = fields;
    const state = typeof requestState === "string" ? requestState : undefined;
    const round: NextRound = { kind: "server", server, state };
    const sealed = { ...fields, requestState: sealRound(context, round, [name, args]) };
    return resultText(client, sealed, undefined, resultType);
  }
  facts.outcome = fields["isError"] === true ? "error" : "ok";
  const renamed = await withPublicUris(context, server, sealTaskIds(context, server, fields));
  return resultText(client, renamed, undefined, resultType);
}

/** Links to resources lead to this server through the gateway. */
export async function withPublicUris(
  { user, exchange }: RequestContext,
  server: string,
  fields: Fields,
): Promise<Fields> {
  if (!hasUris(fields)) return fields;
  const names = await resourceNames(user.port, exchange.signal);
  return renameUris(fields, (uri) => names.toPublic(server, uri));
}

function ownResult({ client, facts }: RequestContext, result: ToolResult): string {
  const { content, structuredContent, isError, _meta } = result;
  facts.outcome = isError ? "error" : "ok";
  return resultText(client, {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    isError,
    ...(_meta && { _meta }),
  });
}

function noteFacts({ facts }: RequestContext, { info, source }: CatalogEntry, args: Fields): void {
  facts.server = info.server;
  facts.tool = source.sourceName;
  facts.args = args;
  facts.definition = source.raw;
}

const unknownTool = (name: string): Fault => invalidParams(`Unknown tool: ${name.slice(0, 200)}`);

const tooFar = (): Fault =>
  new Fault({
    code: INTERNAL_ERROR,
    message: "The request has passed too many gateways; one of them is probably in its own list of servers",
  });
