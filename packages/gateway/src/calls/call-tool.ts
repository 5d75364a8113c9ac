/** `tools/call`: resolves the public name, asks the policy, and passes the call on. */
import {
  AuthError,
  decodeHeaderText,
  type Fields,
  isRecord,
  type JsonSchema,
  oncePerObject,
  toRecord,
  toToolportError,
} from "@toolport/base";
import type { CallToolOptions, ToolResult } from "@toolport/core";
import { INPUT_META_KEY, missingTool, type Port, readParamHeaders } from "@toolport/core/internal";
import { badState, Fault, INTERNAL_ERROR, invalidParams, isRpcFailure, toFailedResult } from "../faults.js";
import { SIGN_IN, signInServer, signInTool, type ToolEntry } from "../lists/list-entries.js";
import { MAX_HOPS, mismatch, nextHop } from "../message.js";
import {
  type CallOutcome,
  FailedRequest,
  failureOf,
  type GatewayCode,
  type Handled,
  type RequestContext,
  type RequestFacts,
  withFacts,
} from "../request-context.js";
import { resultText } from "../results.js";
import { askForLogin, askForPages, type WaitingCall } from "./ask-for-login.js";
import { createHooks, passedRequestMeta, progressOf } from "./client-hooks.js";
import { withClientNames } from "./client-names.js";
import { type DecidedCall, decideCall, decideFallback, UNRULED } from "./decide-call.js";
import { callOwnTool, findForCall, visibleTools } from "./own-tools.js";
import { isApprovedRound, type OpenedRound, openRound, passQuestion, runOnce } from "./request-state.js";
import { answerParked, runParkable } from "./run-parkable.js";
import { beginTask, createTaskProgress } from "./task-progress.js";

/** One call of a client. */
interface ClientCall {
  readonly name: string;
  readonly args: Fields;
  readonly inputResponses: Fields | undefined;
  /** What a later round of the call must be about, too. */
  readonly identity: unknown;
  readonly round: OpenedRound | undefined;
}

export function callTool(context: RequestContext): Promise<Handled> {
  const { name, arguments: args = {}, inputResponses, requestState } = context.request.params;
  if (typeof name !== "string" || name === "") throw invalidParams("The name of the tool is missing");
  if (!isRecord(args)) throw invalidParams("The arguments of the tool are not an object");
  if (inputResponses !== undefined && !isRecord(inputResponses))
    throw invalidParams("inputResponses is not an object");
  const identity = [name, args];
  return withFacts({ tool: name, args }, async () => {
    try {
      const round = requestState === undefined ? undefined : await openRound(context, identity);
      if (round?.kind === "parked") return await answerParked(context, round, inputResponses ?? {});
      return await resolveAndRun(context, { name, args, inputResponses, identity, round });
    } catch (error) {
      return fail(context, error, { identity, isApproved: false });
    }
  });
}

/** A result that the model can read, or a question, or a JSON-RPC error that is thrown. */
function fail(context: RequestContext, thrown: unknown, call: WaitingCall): Promise<Handled> {
  const { reason, facts } = failureOf(thrown);
  return withFacts(facts, () => {
    const asked =
      reason instanceof AuthError ? askForLogin(context, reason, call) : askForPages(context, reason, call);
    if (asked !== undefined) return asked;
    const { code } = reason instanceof Fault ? reason : toToolportError(reason);
    const ended = { outcome: "error", code, ...facts } as const;
    if (isRpcFailure(reason)) throw new FailedRequest(reason, ended);
    return { json: resultText(context.client, toFailedResult(reason)), facts: ended };
  });
}

async function resolveAndRun(context: RequestContext, call: ClientCall): Promise<Handled> {
  if (nextHop(context.request.params) > MAX_HOPS)
    throw new Fault(
      INTERNAL_ERROR,
      "The request has passed too many gateways; one of them is probably in its own list of servers",
    );
  const { port } = context.user;
  if (context.parts.code !== undefined) return callOfCode(context, context.parts.code, call);
  const listed = port.catalog.entry(call.name);
  if (listed !== undefined) return decideAndRun(context, listed, call.args, call, true);
  // A tool of the port itself: `call_tool` names another tool, which the policy decides about.
  const target = port.own.targetOf(call.name, call.args);
  if (target === undefined) {
    const calling = callOwnTool(context, call.name, call.args);
    if (calling !== undefined) {
      const { result, facts } = await calling;
      return { json: resultText(context.client, resultFields(result)), facts };
    }
    const waiting = signInServer(port, call.name);
    if (waiting !== undefined) return signIn(context, waiting);
  }
  const { name, args } = target ?? call;
  const entry = port.catalog.entry(name) ?? (await findForCall(context, name, context.exchange.signal));
  return decideAndRun(context, entry, args, call, false);
}

/** With code mode there are only its tools, and those that begin a login. */
function callOfCode(context: RequestContext, code: GatewayCode, call: ClientCall): Promise<Handled> {
  const { name, args, identity, inputResponses } = call;
  const waiting = signInServer(context.user.port, name);
  if (waiting !== undefined) return signIn(context, waiting);
  if (!code.isOffered(name)) throw unknownTool(name);
  return runParkable(context, {
    identity,
    inputResponses,
    facts: { tool: name, args },
    async run(signal, ask) {
      const onProgress = progressOf(context);
      const options = { signal, ...(onProgress && { onProgress }) };
      const result = await code.open(context, ask).callTool(name, args, options);
      return { fields: resultFields(result), server: "" };
    },
    finish: ({ client }, { fields }) => ({ json: resultText(client, fields), facts: outcomeOf(fields) }),
    fail: (waiting, error) => fail(waiting, error, { identity, isApproved: false }),
  });
}

/** @param isListed the client has named the tool by a name that it was listed by */
function decideAndRun(
  context: RequestContext,
  entry: ToolEntry,
  args: Fields,
  call: ClientCall,
  isListed: boolean,
): Promise<Handled> {
  const { info, source } = entry;
  const { parts, client } = context;
  const { round } = call;
  const facts = { server: info.server, tool: info.sourceName, args, definition: source.raw };
  return withFacts(facts, async () => {
    if (!parts.offers(client.principal, info)) throw unknownTool(call.name);
    if (isListed) checkParamHeaders(context, entry, args);
    const decided = parts.policy === undefined ? UNRULED : await decideCall(context, entry, args, call);
    if ("answer" in decided && decided.isDenied) return decided.answer;
    if (round === undefined || !isApprovedRound(round))
      return runDecided(context, entry, call, facts, decided);
    // A refusal uses the state up, too: the person has decided.
    return runOnce(context, round, () => runDecided(context, entry, call, facts, decided));
  });
}

/** Runs the call, if it may run. */
function runDecided(
  context: RequestContext,
  entry: ToolEntry,
  { identity, round, inputResponses: responses }: ClientCall,
  facts: RequestFacts & { args: Fields },
  decided: DecidedCall,
): Handled | Promise<Handled> {
  if ("answer" in decided) return decided.answer;
  const { client, request, user } = context;
  const { isExact, isApproved } = decided;
  if (round?.kind === "server" && round.server !== entry.info.server) throw badState();
  const isAnswer = round === undefined || round.kind === "server";
  const task =
    client.era === "legacy" && isRecord(request.params["task"]) ? request.params["task"] : undefined;
  const inputResponses = isAnswer ? responses : undefined;
  const progress = task && createTaskProgress(context);
  return runParkable(context, {
    identity,
    inputResponses,
    facts,
    async run(signal, ask) {
      const onProgress = progress?.report ?? progressOf(context);
      const options: CallToolOptions = {
        signal,
        meta: passedRequestMeta(context),
        onProgress,
        checkArguments: isExact ? "strict" : undefined,
      };
      const requestState = round?.kind === "server" ? round.state : undefined;
      const answered = await user.port.run(entry, facts.args, options, {
        hooks: createHooks(context, ask),
        round: { inputResponses, requestState, task, progressUntil: progress?.until },
        admitFallback: (call) => decideFallback(context, call, isApproved),
      });
      return toOutcome(answered);
    },
    async finish(waiting, outcome) {
      const { fields, server, resultType } = outcome;
      if (resultType === "input_required") {
        const { json, facts } = passQuestion(waiting, outcome, identity, isApproved);
        return { json, facts: { ...facts, server } };
      }
      if (resultType === "task" || waiting.request.params["task"] !== undefined)
        await beginTask(waiting, { ...outcome, tool: toolAt(user.port, entry, server) }, progress);
      const named = await withClientNames(waiting, server, fields);
      return {
        json: resultText(waiting.client, named, { resultType }),
        facts: { ...outcomeOf(fields), server },
      };
    },
    fail(waiting, error) {
      progress?.stop();
      return fail(waiting, error, { identity, isApproved });
    },
  });
}

/** The result as the server sent it, unless a later step of the pipeline has changed it. */
function toOutcome({ result, received }: Awaited<ReturnType<Port["run"]>>): CallOutcome {
  const { server } = result;
  if (received === undefined) return { fields: resultFields(result), server };
  const { resultType, ...fields } = received;
  if (resultType !== undefined) return { fields, server, resultType: resultType as string };
  const { content, structuredContent, isError, _meta } = result;
  const isUnchanged =
    content === received["content"] &&
    structuredContent === received["structuredContent"] &&
    isError === (received["isError"] === true) &&
    (_meta === undefined ? received["_meta"] === undefined : isSameMeta(_meta, received["_meta"]));
  if (isUnchanged) return { fields: received, server };
  // What a step has removed must not come back.
  const { structuredContent: _, _meta: __, ...others } = received;
  return { fields: { ...others, ...resultFields(result) }, server };
}

/** Apart from the mark of results that depend on input. */
function isSameMeta(meta: Fields, received: unknown): boolean {
  if (meta[INPUT_META_KEY] !== true) return meta === received;
  const { [INPUT_META_KEY]: _, ...unmarked } = meta;
  const sent = toRecord(received) ?? {};
  const keys = Object.keys(unmarked);
  return keys.length === Object.keys(sent).length && keys.every((key) => unmarked[key] === sent[key]);
}

/** A tool that fails has a result, too. */
const outcomeOf = ({ isError }: Fields): RequestFacts => ({ outcome: isError === true ? "error" : "ok" });

/** The name of the tool at the server that answered, which may be a fallback server. */
function toolAt({ pool }: Port, { info, source }: ToolEntry, server: string): string {
  if (server === info.server) return source.sourceName;
  return pool.configOf(info.server)?.fallback?.tools[source.sourceName] ?? source.sourceName;
}

/** Connects the server: without a login that fails with the error which asks for it. */
function signIn(context: RequestContext, server: string): Promise<Handled> {
  const { user, client, exchange } = context;
  return withFacts({ server, tool: SIGN_IN }, async () => {
    const { name, inputSchema } = signInTool(server);
    const [isShown] = await visibleTools(context, [{ server, name, sourceName: SIGN_IN, inputSchema }]);
    if (!isShown) throw missingTool(name, []);
    await user.port.pool.require(server).acquire({ signal: exchange.signal });
    const text = `You are logged in to ${server}. List the tools again.`;
    return { json: resultText(client, { content: [{ type: "text", text }], isError: false }) };
  });
}

function resultFields({ content, structuredContent, isError, _meta }: ToolResult): Fields {
  // The mark of results that depend on input is not for clients.
  const { [INPUT_META_KEY]: _, ...meta } = _meta ?? {};
  return {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    isError,
    ...(_meta && { _meta: meta }),
  };
}

const unknownTool = (name: string): Fault => invalidParams(`Unknown tool: ${name.slice(0, 200)}`);

/** Read once for each schema. */
const declaredHeaders = oncePerObject((schema: JsonSchema) => {
  const headers = readParamHeaders(schema);
  return typeof headers === "string" ? [] : headers;
});

/** Throws `-32020` if a header is missing or differs from the body. The body decides what is sent. */
function checkParamHeaders({ client, exchange }: RequestContext, { info }: ToolEntry, args: Fields): void {
  if (client.era !== "modern" || exchange.header === undefined) return;
  for (const { path, header } of declaredHeaders(info.inputSchema)) {
    const value = path.reduce<unknown>((node, key) => (isRecord(node) ? node[key] : undefined), args);
    if (value === undefined || value === null || typeof value === "object") continue;
    const given = exchange.header(header.toLowerCase())?.trim();
    if (given === undefined) throw mismatch(`the ${header} header is missing`);
    const decoded = decodeHeaderText(given);
    if (decoded === undefined) throw mismatch(`the ${header} header is not encoded correctly`);
    const isEqual = typeof value === "number" ? Number(decoded) === value : decoded === String(value);
    if (!isEqual) throw mismatch(`the ${header} header differs from the argument ${path.join(".")}`);
  }
}
