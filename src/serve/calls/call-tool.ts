/** `tools/call`: resolves the public name, asks the policy, and passes the call on. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { AuthError } from "../../errors/auth-error.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Relay } from "../../protocol/relay.js";
import { badState, Fault, INTERNAL_ERROR, invalidParams, isRpcFailure, toFailedResult } from "../faults.js";
import { isTooFar, nextHop } from "../hops.js";
import type { JsonText } from "../json-text.js";
import { resourceNames } from "../lists/list-entries.js";
import { hasUris, renameUris } from "../lists/resource-names.js";
import { SIGN_IN, signInServer } from "../lists/sign-in.js";
import { type Fields, isFields } from "../message.js";
import type { CallOutcome, RequestContext } from "../request-context.js";
import { callResultText, resultText } from "../results.js";
import { askForLogin, askForPages } from "./ask-for-login.js";
import { checkParamHeaders } from "./check-param-headers.js";
import { decideCall, fallbackRule } from "./decide-call.js";
import { callOwnTool } from "./own-tools.js";
import { argumentsOf, createRelay, passedRequestMeta, progressOf } from "./relayed.js";
import { type NextRound, openRound, sealRound } from "./request-state.js";
import { answerParked, runParkable } from "./run-parkable.js";
import { sealTaskIds } from "./task-ids.js";

interface WantedCall {
  readonly name: string;
  readonly args: Fields;
  readonly inputResponses: Fields | undefined;
}

export async function callTool(context: RequestContext): Promise<JsonText> {
  const { facts } = context;
  const wanted = readCall(context.request.params);
  facts.tool = wanted.name;
  facts.args = wanted.args;
  try {
    const { requestState } = context.request.params;
    const round = requestState === undefined ? undefined : await openRound(context, identityOf(wanted));
    if (round?.kind === "parked") return await answerParked(context, round, wanted.inputResponses ?? {});
    return await resolveAndRun(context, wanted, round);
  } catch (error) {
    return fail(context, error, wanted);
  }
}

/** What a later round of the call must be about, too. */
const identityOf = ({ name, args }: WantedCall): unknown => [name, args];

/** A result that the model can read, or a question, or a JSON-RPC error that is thrown. */
function fail(context: RequestContext, error: unknown, wanted: WantedCall): string {
  const { client, facts } = context;
  const identity = identityOf(wanted);
  const asked =
    error instanceof AuthError
      ? askForLogin(context, error, identity)
      : askForPages(context, error, identity);
  if (asked !== undefined) return asked;
  facts.outcome ??= "error";
  facts.errorCode ??= error instanceof Fault ? error.code : toToolportError(error).code;
  if (isRpcFailure(error)) throw error;
  return resultText(client, toFailedResult(error));
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
): Promise<JsonText> {
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
  const waiting = target === undefined ? signInServer(port, wanted.name) : undefined;
  if (waiting !== undefined) return signIn(context, waiting);
  const { name, args } = target ?? wanted;
  const entry = port.catalog.entry(name) ?? (await port.findForCall(name, { signal }));
  noteFacts(context, entry, args);
  if (!context.parts.offers(context.client.principal, entry.info)) throw unknownTool(wanted.name);
  if (target === wanted) checkParamHeaders(context, entry, args);
  const deciding = decideCall(context, entry, args, { round, wanted });
  const decided = deciding instanceof Promise ? await deciding : deciding;
  if ("answer" in decided) return decided.answer;
  return run(context, entry, args, { wanted, round, hops, ...decided });
}

interface RunOptions {
  readonly wanted: WantedCall;
  readonly round: NextRound | undefined;
  readonly hops: number;
  /** The policy has read these arguments, so they must not be repaired. */
  readonly isExact: boolean;
  /** A person has approved the call. */
  readonly isApproved: boolean;
}

/** Runs the call. */
function run(
  context: RequestContext,
  entry: CatalogEntry,
  args: Fields,
  { wanted, round, hops, isExact, isApproved }: RunOptions,
): Promise<JsonText> {
  const { client, request, parts, user } = context;
  if (round?.kind === "server" && round.server !== entry.info.server) throw badState();
  const isAnswer = round === undefined || round.kind === "server";
  const task =
    client.era === "legacy" && isFields(request.params["task"]) ? request.params["task"] : undefined;
  const inputResponses = isAnswer ? wanted.inputResponses : undefined;
  return runParkable(context, {
    identity: identityOf(wanted),
    inputResponses,
    async run(signal, answer) {
      const requestState = round?.kind === "server" ? round.state : undefined;
      const mayUse = fallbackRule(context, args, isApproved);
      const relay = createRelay(context, { inputResponses, requestState, task, answer, mayUse });
      const onProgress = progressOf(context);
      const options = {
        signal,
        ...(onProgress && { onProgress }),
        meta: passedRequestMeta(request.params, { baggage: parts.baggage, hops }),
        ...(isExact && { checkArguments: "strict" as const }),
      };
      return outcomeOf(await user.port.run(entry, args, options, { relay }), relay);
    },
    finish: (waiting, outcome) => finish(waiting, outcome, wanted),
    fail: (waiting, error) => fail(waiting, error, wanted),
  });
}

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

function finish(
  context: RequestContext,
  { fields, server, resultType }: CallOutcome,
  wanted: WantedCall,
): JsonText | Promise<JsonText> {
  const { client, facts } = context;
  facts.server = server;
  if (resultType === "input_required") {
    facts.outcome = "waiting";
    const { requestState } = fields;
    const state = typeof requestState === "string" ? requestState : undefined;
    const round: NextRound = { kind: "server", server, state };
    const sealed = { ...fields, requestState: sealRound(context, round, identityOf(wanted)) };
    return resultText(client, sealed, undefined, resultType);
  }
  facts.outcome = fields["isError"] === true ? "error" : "ok";
  const sealed = sealTaskIds(context, server, fields);
  if (!hasUris(sealed)) return callResultText(client, sealed, resultType);
  return withPublicUris(context, server, sealed).then((renamed) =>
    callResultText(client, renamed, resultType),
  );
}

/** Links to resources lead to this server through the gateway. */
export async function withPublicUris(
  { user, exchange }: RequestContext,
  server: string,
  fields: Fields,
): Promise<Fields> {
  if (!hasUris(fields)) return fields;
  const names = await resourceNames(user.port, { signal: exchange.signal });
  return renameUris(fields, (uri) => names.toPublic(server, uri));
}

/** Connects the server: without a login that fails with the error which asks for it. */
async function signIn({ user, client, exchange, facts }: RequestContext, server: string): Promise<string> {
  facts.server = server;
  facts.tool = SIGN_IN;
  await user.port.pool.require(server).acquire({ signal: exchange.signal });
  facts.outcome = "ok";
  return resultText(client, {
    content: [{ type: "text", text: `You are logged in to ${server}. List the tools again.` }],
    isError: false,
  });
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
