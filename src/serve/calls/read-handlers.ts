/** `resources/read`, `prompts/get`, `completion/complete` and `tasks/*`: requests about one thing of one server. */
import { relayRequest } from "../../port/relay-request.js";
import { toSignal } from "../../util/lazy-abort.js";
import {
  badState,
  Fault,
  INVALID_PARAMS,
  invalidParams,
  MISSING_CAPABILITY,
  unknownTask,
} from "../faults.js";
import { isTooFar, nextHop } from "../hops.js";
import type { JsonText } from "../json-text.js";
import { resourceNames } from "../lists/list-entries.js";
import type { ResourceNames, ResourceTarget } from "../lists/resource-names.js";
import { type Fields, isFields } from "../message.js";
import type { CallOutcome, RequestContext } from "../request-context.js";
import { type CachePolicy, NOT_CACHED, resultText } from "../results.js";
import { withPublicUris } from "./call-tool.js";
import { checkRead } from "./check-read.js";
import type { TaskTarget } from "./open-tasks.js";
import { createRelay, passedRequestMeta, progressOf } from "./relayed.js";
import { type NextRound, openRound, sealRound } from "./request-state.js";
import { answerParked, runParkable } from "./run-parkable.js";
import { openTaskId, sealTaskIds } from "./task-ids.js";

/** A request as its server understands it. */
interface ServerRequest {
  readonly server: string;
  readonly params: Record<string, unknown>;
  readonly uri?: string | undefined;
  readonly prompt?: string | undefined;
  /** The client's id of the task that the request is about. */
  readonly taskId?: string | undefined;
  /** What the request is about, for `requestState`. */
  readonly identity: unknown;
  readonly cache?: CachePolicy | undefined;
}

export async function readResource(context: RequestContext): Promise<JsonText> {
  const { uri } = context.request.params;
  if (typeof uri !== "string") throw invalidParams("The URI of the resource is missing");
  const target = await findResource(context, (names) => names.find(uri));
  if (target === undefined) throw unknownResource(uri);
  return relay(context, {
    server: target.server,
    params: { uri: target.uri },
    uri: target.uri,
    identity: uri,
    cache: NOT_CACHED,
  });
}

export async function getPrompt(context: RequestContext): Promise<JsonText> {
  const { name, arguments: args } = context.request.params;
  if (typeof name !== "string") throw invalidParams("The name of the prompt is missing");
  const { server, source } = await findPrompt(context, name);
  return relay(context, {
    server,
    params: { name: source, ...(args !== undefined && { arguments: args }) },
    prompt: source,
    identity: [name, args],
  });
}

/** How long a request about one thing waits for servers that are connecting. */
const PATIENT_MS = 15_000;

const unknownResource = (uri: string): Fault =>
  new Fault({ code: INVALID_PARAMS, message: "Resource not found", data: { uri } });

/** Looks again after waiting for servers that are slow to connect. */
async function findResource(
  { user, exchange }: RequestContext,
  find: (names: ResourceNames) => ResourceTarget | undefined,
): Promise<ResourceTarget | undefined> {
  const { signal } = exchange;
  const found = find(await resourceNames(user.port, { signal }));
  return found ?? find(await resourceNames(user.port, { signal, limitMs: PATIENT_MS }));
}

async function findPrompt(
  { user, exchange }: RequestContext,
  name: string,
): Promise<{ server: string; source: string }> {
  const { catalog } = user.port;
  const { signal } = exchange;
  if (catalog.prompt(name) === undefined) await user.port.need("prompts", { signal });
  // A server that is slow to connect may have it.
  if (catalog.prompt(name) === undefined) await user.port.need("prompts", { signal, limitMs: PATIENT_MS });
  const found = catalog.prompt(name);
  if (found !== undefined) return { server: found.server, source: found.name };
  throw new Fault({ code: INVALID_PARAMS, message: `Unknown prompt: ${name.slice(0, 200)}` });
}

export async function complete(context: RequestContext): Promise<JsonText> {
  const { ref, argument, context: given } = context.request.params;
  if (!isFields(ref) || !isFields(argument)) throw invalidParams("The reference or the argument is missing");
  const rest = { argument, ...(given !== undefined && { context: given }) };
  const { type, name, uri } = ref;
  if (type === "ref/prompt" && typeof name === "string") {
    const { server, source } = await findPrompt(context, name);
    const params = { ref: { ...ref, name: source }, ...rest };
    return relay(context, { server, params, prompt: source, identity: ref });
  }
  if (type !== "ref/resource" || typeof uri !== "string") throw invalidParams("The reference is not valid");
  const target = await findResource(context, (names) => names.resolveTemplate(uri) ?? names.find(uri));
  if (target === undefined) throw unknownResource(uri);
  return relay(context, {
    server: target.server,
    params: { ref: { ...ref, uri: target.uri }, ...rest },
    uri: target.uri,
    identity: ref,
  });
}

/** `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/update`. */
export async function taskRequest(context: RequestContext): Promise<JsonText> {
  const { taskId: sealed, _meta, ...rest } = context.request.params;
  requireTasks(context.client);
  const { server, taskId } = await openTaskId(context, sealed);
  const { parts, client, facts } = context;
  if (!parts.showsServer(client, server)) {
    Object.assign(facts, { server, outcome: "refused" });
    throw unknownTask();
  }
  return relay(context, { server, params: { ...rest, taskId }, identity: sealed, taskId: sealed as string });
}

const TASKS = "io.modelcontextprotocol/tasks";

/** Modern clients declare the extension with each request. */
function requireTasks({ era, capabilities }: RequestContext["client"]): void {
  const { extensions } = capabilities;
  if (era === "legacy" || (isFields(extensions) && extensions[TASKS] !== undefined)) return;
  throw new Fault({
    code: MISSING_CAPABILITY,
    message: `Missing required client capability: ${TASKS}`,
    data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    status: 400,
  });
}

/** `tasks/list` of a legacy client: the tasks of all connected servers that list theirs, and that the user may see. */
export async function listTasks(context: RequestContext): Promise<string> {
  const { user, exchange, client, parts } = context;
  const servers = user.port.pool
    .created()
    .filter(({ session }) => session?.era === "legacy" && session.capabilities.tasks?.list !== undefined)
    .filter(({ name }) => parts.showsServer(client, name));
  const lists = await Promise.all(
    servers.map(async ({ name: server }) => {
      const sent = { server, method: "tasks/list", params: {} };
      const way = createRelay(context);
      // One server that fails hides only its own tasks.
      const result = await relayRequest(user.port, sent, way, { signal: exchange.signal }).catch(() => ({}));
      const { tasks } = sealTaskIds(context, server, result);
      return Array.isArray(tasks) ? tasks : [];
    }),
  );
  return resultText(client, { tasks: lists.flat() });
}

/** Passes the request on. Rounds of `input_required` pass through it. */
async function relay(context: RequestContext, wanted: ServerRequest): Promise<JsonText> {
  const { request, user, parts, facts } = context;
  const { server, params, uri, prompt, identity } = wanted;
  facts.server = server;
  facts.tool = uri ?? prompt;
  await checkPolicy(context, wanted);
  const hops = nextHop(request.params);
  if (isTooFar(hops)) throw invalidParams("The request has passed too many gateways");
  const given = request.params["inputResponses"];
  const inputResponses = isFields(given) ? given : undefined;
  const round = await openRound(context, identity);
  if (round?.kind === "parked") return answerParked(context, round, inputResponses ?? {});
  if (round !== undefined && (round.kind !== "server" || round.server !== server)) throw badState();
  const _meta = passedRequestMeta(request.params, { baggage: parts.baggage, hops });
  const sent = { server, method: request.method, params: { ...params, _meta }, uri, prompt };
  return runParkable(context, {
    identity,
    inputResponses,
    async run(abort, answer) {
      const way = createRelay(context, { inputResponses, requestState: round?.state, answer });
      const { resultType, ...fields } = await relayRequest(user.port, sent, way, {
        signal: toSignal(abort),
        onProgress: progressOf(context),
      });
      const isQuestion = way.isInputRequired === true || resultType === "input_required";
      return { fields, server, resultType: isQuestion ? "input_required" : undefined };
    },
    finish: (waiting, outcome) => finish(waiting, outcome, wanted),
    fail(_waiting, error) {
      throw error;
    },
  });
}

async function finish(
  context: RequestContext,
  { fields, server, resultType }: CallOutcome,
  { identity, cache, taskId, params }: ServerRequest,
): Promise<JsonText> {
  const { client, facts } = context;
  if (resultType === "input_required") {
    const { requestState } = fields;
    const state = typeof requestState === "string" ? requestState : undefined;
    const round: NextRound = { kind: "server", server, state };
    facts.outcome = "waiting";
    const { ttlMs: _, cacheScope: __, ...question } = fields;
    const sealed = { ...question, requestState: sealRound(context, round, identity) };
    return resultText(client, sealed, undefined, resultType);
  }
  facts.outcome = "ok";
  if (taskId !== undefined) observeTask(context, { server, taskId: String(params["taskId"]) }, fields);
  const renamed = await withPublicUris(context, server, sealTaskIds(context, server, fields, taskId));
  if (cache === undefined || client.era === "legacy") return resultText(client, renamed);
  return resultText(client, { ...renamed, ...stricterCache(context) }, cache);
}

/** The result of a task is its end. */
function observeTask({ parts, user, request }: RequestContext, task: TaskTarget, { status }: Fields): void {
  parts.tasks.observe(user, task, request.method === "tasks/result" ? "completed" : status);
}

/** What the server says about keeping the result holds, unless the result depends on answers of the client or on the user. */
function stricterCache({ request, parts }: RequestContext): Partial<CachePolicy> {
  const { inputResponses, requestState } = request.params;
  if (inputResponses !== undefined || requestState !== undefined) return NOT_CACHED;
  return parts.isSameForAll ? {} : { cacheScope: "private" };
}

/** Throws if the policy does not allow the request. */
async function checkPolicy(
  context: RequestContext,
  { server, uri, prompt, params }: ServerRequest,
): Promise<void> {
  if (uri === undefined && prompt === undefined) return;
  const args = isFields(params["arguments"]) ? params["arguments"] : undefined;
  const { method } = context.request;
  await checkRead(context, { method, server, uri, prompt, args });
}
