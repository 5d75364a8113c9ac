/** `tools/call`: resolves the public name, asks the policy, and passes the call on. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { AuthError } from "../../errors/toolport-error.js";
import type { CallAnswer, CallToolOptions } from "../../execution/tool-call.js";
import { INPUT_META_KEY, type ToolResult } from "../../execution/tool-result.js";
import { missingTool } from "../../port/find-tool.js";
import type { Port } from "../../port/port.js";
import { type ParamHeader, readParamHeaders } from "../../protocol/param-headers.js";
import { type Fields, isRecord } from "../../util/json.js";
import { decodeHeaderText } from "../../util/text.js";
import { badState, Fault, INTERNAL_ERROR, invalidParams, isRpcFailure, toFailedResult } from "../faults.js";
import { resourceNames, SIGN_IN, signInServer, signInTool } from "../lists/list-entries.js";
import { hasUris, renameUris } from "../lists/resource-names.js";
import { isTooFar, mismatch } from "../message.js";
import type { CallOutcome, GatewayCode, RequestContext } from "../request-context.js";
import { resultText } from "../results.js";
import { askForLogin, askForPages } from "./ask-for-login.js";
import { argumentsOf, createHooks, passedRequestMeta, progressOf } from "./client-hooks.js";
import { type AllowedCall, decideCall, fallbackRule } from "./decide-call.js";
import { callOwnTool, findForCall, visibleTools } from "./own-tools.js";
import { type OpenedRound, openRound, sealQuestion } from "./request-state.js";
import { answerParked, runParkable } from "./run-parkable.js";
import { beginTask, createTaskProgress, type TaskProgress, withClientTasks } from "./task-progress.js";
import { isApprovedRound, runOnce } from "./used-states.js";

interface WantedCall {
  readonly name: string;
  readonly args: Fields;
  readonly inputResponses: Fields | undefined;
}

export async function callTool(context: RequestContext): Promise<string> {
  const { facts } = context;
  const wanted = readCall(context.request.params);
  facts.tool = wanted.name;
  facts.args = wanted.args;
  try {
    const round = await openRound(context, identityOf(wanted));
    if (round?.kind === "parked") return await answerParked(context, round, wanted.inputResponses ?? {});
    return await resolveAndRun(context, wanted, round);
  } catch (error) {
    return fail(context, error, wanted);
  }
}

/** What a later round of the call must be about, too. */
const identityOf = ({ name, args }: WantedCall): unknown => [name, args];

/** A result that the model can read, or a question, or a JSON-RPC error that is thrown. */
function fail(context: RequestContext, error: unknown, wanted: WantedCall, isApproved = false): string {
  const { client, facts } = context;
  const call = { identity: identityOf(wanted), isApproved };
  const asked =
    error instanceof AuthError ? askForLogin(context, error, call) : askForPages(context, error, call);
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
  if (inputResponses !== undefined && !isRecord(inputResponses))
    throw invalidParams("inputResponses is not an object");
  return { name, args, inputResponses };
}

/** One call of a client. */
interface CallPlan {
  readonly wanted: WantedCall;
  readonly round: OpenedRound | undefined;
  /** The client has named the tool by a name that it was listed by. */
  readonly isListed: boolean;
}

async function resolveAndRun(
  context: RequestContext,
  wanted: WantedCall,
  round: OpenedRound | undefined,
): Promise<string> {
  if (isTooFar(context.request.params))
    throw new Fault({
      code: INTERNAL_ERROR,
      message: "The request has passed too many gateways; one of them is probably in its own list of servers",
    });
  const { port } = context.user;
  if (context.parts.code !== undefined) return callOfCode(context, context.parts.code, wanted);
  const listed = port.catalog.entry(wanted.name);
  const plan: CallPlan = { wanted, round, isListed: listed !== undefined };
  if (listed !== undefined) return decideAndRun(context, listed, wanted.args, plan);
  // A tool of the port itself: `call_tool` names another tool, which the policy decides about.
  const target = port.own.targetOf(wanted.name, wanted.args);
  if (target === undefined) {
    const calling = callOwnTool(context, wanted.name, wanted.args);
    if (calling !== undefined) return ownResult(context, await calling);
    const waiting = signInServer(port, wanted.name);
    if (waiting !== undefined) return signIn(context, waiting);
  }
  const { name, args } = target ?? wanted;
  const entry = port.catalog.entry(name) ?? (await findForCall(context, name, context.exchange.signal));
  return decideAndRun(context, entry, args, plan);
}

/** With code mode there are only its tools, and those that begin a login. */
function callOfCode(context: RequestContext, code: GatewayCode, wanted: WantedCall): Promise<string> {
  const waiting = signInServer(context.user.port, wanted.name);
  if (waiting !== undefined) return signIn(context, waiting);
  if (!code.isOffered(wanted.name)) throw unknownTool(wanted.name);
  return runParkable(context, {
    identity: identityOf(wanted),
    inputResponses: wanted.inputResponses,
    async run(signal, answer) {
      const onProgress = progressOf(context);
      const result = await code
        .open(context, answer)
        .callTool(wanted.name, wanted.args, { signal, ...(onProgress && { onProgress }) });
      return { fields: resultFields(result), server: "" };
    },
    finish(waiting, { fields }) {
      waiting.facts.outcome = fields["isError"] === true ? "error" : "ok";
      return resultText(waiting.client, fields);
    },
    fail: (waiting, error) => fail(waiting, error, wanted),
  });
}

async function decideAndRun(
  context: RequestContext,
  entry: CatalogEntry,
  args: Fields,
  plan: CallPlan,
): Promise<string> {
  const { wanted, round, isListed } = plan;
  const { server, sourceName: tool } = entry.info;
  Object.assign(context.facts, { server, tool, args, definition: entry.source.raw });
  if (!context.parts.offers(context.client.principal, entry.info)) throw unknownTool(wanted.name);
  if (isListed) checkParamHeaders(context, entry, args);
  const decided = await decideCall(context, entry, args, plan);
  if ("answer" in decided && decided.isDenied) return decided.answer;
  const end = () => ("answer" in decided ? decided.answer : run(context, entry, plan, { args, decided }));
  // A refusal uses the state up, too: the person has decided.
  return isApprovedRound(round) ? runOnce(context, round, end) : end();
}

/** Runs the call. */
function run(
  context: RequestContext,
  entry: CatalogEntry,
  { wanted, round }: CallPlan,
  { args, decided: { isExact, isApproved } }: { readonly args: Fields; readonly decided: AllowedCall },
): Promise<string> {
  const { client, request, user } = context;
  if (round?.kind === "server" && round.server !== entry.info.server) throw badState();
  const isAnswer = round === undefined || round.kind === "server";
  const task =
    client.era === "legacy" && isRecord(request.params["task"]) ? request.params["task"] : undefined;
  const inputResponses = isAnswer ? wanted.inputResponses : undefined;
  const progress = task && createTaskProgress(context);
  return runParkable(context, {
    identity: identityOf(wanted),
    inputResponses,
    async run(signal, answer) {
      const mayUse = fallbackRule(context, args, isApproved);
      const onProgress = progress?.report ?? progressOf(context);
      const options: CallToolOptions = {
        signal,
        meta: passedRequestMeta(context),
        ...(onProgress !== undefined && { onProgress }),
        ...(isExact && { checkArguments: "strict" }),
      };
      const requestState = round?.kind === "server" ? round.state : undefined;
      const answered = await user.port.run(entry, args, options, {
        hooks: createHooks(context, { answer, mayUse }),
        round: { inputResponses, requestState, task, progressUntil: progress?.until },
      });
      return outcomeOf(answered);
    },
    finish: (waiting, outcome) => finish(waiting, outcome, { wanted, entry }, isApproved, progress),
    fail(waiting, error) {
      progress?.stop();
      return fail(waiting, error, wanted, isApproved);
    },
  });
}

/** The result as the server sent it, unless a later step of the pipeline has changed it. */
function outcomeOf({ result, received }: CallAnswer): CallOutcome {
  const { server } = result;
  if (received === undefined) return { fields: resultFields(result), server };
  const { resultType, ...fields } = received;
  if (resultType !== undefined) return { fields, server, resultType: resultType as string };
  if (isUnchanged(result, received)) return { fields: received, server };
  // What a step has removed must not come back.
  const { structuredContent: _, _meta: __, ...others } = received;
  return { fields: { ...others, ...resultFields(result) }, server };
}

function isUnchanged({ content, structuredContent, isError, _meta }: ToolResult, raw: Fields): boolean {
  if (structuredContent !== raw["structuredContent"] || isError !== (raw["isError"] === true)) return false;
  if (!isSameMeta(_meta, raw["_meta"])) return false;
  const given = raw["content"];
  if (!Array.isArray(given) || given.length !== content.length) return false;
  return content.every((block, index) => block === given[index]);
}

/** Apart from the mark of results that depend on input, which is not for clients. */
function isSameMeta(meta: Fields | undefined, given: unknown): boolean {
  if (meta === given) return true;
  const one = meta ?? {};
  const other = isRecord(given) ? given : {};
  return Object.keys({ ...one, ...other }).every(
    (name) => name === INPUT_META_KEY || one[name] === other[name],
  );
}

async function finish(
  context: RequestContext,
  outcome: CallOutcome,
  { wanted, entry }: { readonly wanted: WantedCall; readonly entry: CatalogEntry },
  isApproved: boolean,
  progress: TaskProgress | undefined,
): Promise<string> {
  const { client, facts, user, request } = context;
  const { fields, server, resultType } = outcome;
  facts.server = server;
  if (resultType === "input_required") return sealQuestion(context, outcome, identityOf(wanted), isApproved);
  facts.outcome = fields["isError"] === true ? "error" : "ok";
  const isTask = resultType === "task" || request.params["task"] !== undefined;
  const tool = toolAt(user.port, entry, server);
  const named = isTask
    ? await beginTask(context, { server, tool, fields, resultType }, progress)
    : withClientTasks(context, server, fields);
  return resultText(client, await withPublicUris(context, server, named), { resultType });
}

/** The name of the tool at the server that answered, which may be a fallback server. */
function toolAt({ pool }: Port, { info, source }: CatalogEntry, server: string): string {
  if (server === info.server) return source.sourceName;
  return pool.configOf(info.server)?.fallback?.tools[source.sourceName] ?? source.sourceName;
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
async function signIn(context: RequestContext, server: string): Promise<string> {
  const { user, client, exchange, facts } = context;
  facts.server = server;
  facts.tool = SIGN_IN;
  const { name, inputSchema } = signInTool(server);
  const [isShown] = await visibleTools(context, [{ server, name, sourceName: SIGN_IN, inputSchema }]);
  if (!isShown) throw missingTool(name, []);
  await user.port.pool.require(server).acquire({ signal: exchange.signal });
  facts.outcome = "ok";
  return resultText(client, {
    content: [{ type: "text", text: `You are logged in to ${server}. List the tools again.` }],
    isError: false,
  });
}

function ownResult({ client, facts }: RequestContext, result: ToolResult): string {
  facts.outcome = result.isError ? "error" : "ok";
  return resultText(client, resultFields(result));
}

const resultFields = ({ content, structuredContent, isError, _meta }: ToolResult): Fields => ({
  content,
  ...(structuredContent !== undefined && { structuredContent }),
  isError,
  ...(_meta && { _meta }),
});

const unknownTool = (name: string): Fault => invalidParams(`Unknown tool: ${name.slice(0, 200)}`);

const NONE: readonly ParamHeader[] = [];
const declared = new WeakMap<object, readonly ParamHeader[]>();

/** Throws `-32020` if a header is missing or differs from the body. The body decides what is sent. */
function checkParamHeaders({ client, exchange }: RequestContext, { info }: CatalogEntry, args: Fields): void {
  if (client.era !== "modern" || exchange.header === undefined) return;
  for (const { path, header } of headersOf(info.inputSchema)) {
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

function headersOf(schema: Fields): readonly ParamHeader[] {
  const known = declared.get(schema);
  if (known !== undefined) return known;
  const read = readParamHeaders(schema);
  const headers = typeof read === "string" ? NONE : read;
  declared.set(schema, headers);
  return headers;
}
