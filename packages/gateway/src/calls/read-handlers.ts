/** `resources/read`, `prompts/get`, `completion/complete` and `tasks/*`: requests about one thing of one server. */
import { type Fields, isRecord, mapConcurrently, ToolCallError } from "@toolport/base";
import { sendRequest } from "@toolport/core/internal";
import {
  badCursor,
  badState,
  Fault,
  INVALID_PARAMS,
  invalidParams,
  MISSING_CAPABILITY,
  unknownTask,
} from "../faults.js";
import type { ResourceTarget } from "../lists/resource-names.js";
import { MAX_HOPS, nextHop } from "../message.js";
import {
  type CallOutcome,
  FailedRequest,
  type Handled,
  type RequestContext,
  withFacts,
} from "../request-context.js";
import { type CachePolicy, NOT_CACHED, resultText } from "../results.js";
import { checkRead, locateResource } from "./check-read.js";
import { createHooks, passedRequestMeta, progressOf } from "./client-hooks.js";
import { withClientNames } from "./client-names.js";
import { openRound, passQuestion } from "./request-state.js";
import { answerParked, runParkable } from "./run-parkable.js";
import { openTask, visibleTasks } from "./task-progress.js";
import type { UserTask } from "./user-tasks.js";

/** A request as its server understands it. */
interface ServerRequest {
  readonly server: string;
  readonly params: Record<string, unknown>;
  readonly uri?: string | undefined;
  readonly prompt?: string | undefined;
  /** The task that the request is about. */
  readonly task?: UserTask | undefined;
  /** What the request is about, for `requestState`. */
  readonly identity: unknown;
  readonly cache?: CachePolicy | undefined;
}

export async function readResource(context: RequestContext): Promise<Handled> {
  const { uri } = context.request.params;
  if (typeof uri !== "string") throw invalidParams("The URI of the resource is missing");
  const target = await findResource(context, uri);
  return request(context, {
    server: target.server,
    params: { uri: target.uri },
    uri: target.uri,
    identity: uri,
    cache: NOT_CACHED,
  });
}

export async function getPrompt(context: RequestContext): Promise<Handled> {
  const { name, arguments: args } = context.request.params;
  if (typeof name !== "string") throw invalidParams("The name of the prompt is missing");
  const { server, source } = await findPrompt(context, name);
  return request(context, {
    server,
    params: { name: source, ...(args !== undefined && { arguments: args }) },
    prompt: source,
    identity: [name, args],
  });
}

/** How long a request about one thing waits for servers that are connecting. */
const PATIENT_MS = 15_000;

/** Looks again after waiting for servers that are slow to connect. */
async function findResource(
  context: RequestContext,
  uri: string,
  isTemplate = false,
): Promise<ResourceTarget> {
  const { signal } = context.exchange;
  const found =
    (await locateResource(context, uri, { isTemplate, signal })) ??
    (await locateResource(context, uri, { isTemplate, signal, limitMs: PATIENT_MS }));
  if (found === undefined) throw invalidParams("Resource not found", { uri });
  return found;
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
  throw invalidParams(`Unknown prompt: ${name.slice(0, 200)}`);
}

export async function complete(context: RequestContext): Promise<Handled> {
  const { ref, argument, context: given } = context.request.params;
  if (!isRecord(ref) || !isRecord(argument)) throw invalidParams("The reference or the argument is missing");
  const rest = { argument, ...(given !== undefined && { context: given }) };
  const { type, name, uri } = ref;
  if (type === "ref/prompt" && typeof name === "string") {
    const { server, source } = await findPrompt(context, name);
    const params = { ref: { ...ref, name: source }, ...rest };
    return request(context, { server, params, prompt: source, identity: ref });
  }
  if (type !== "ref/resource" || typeof uri !== "string") throw invalidParams("The reference is not valid");
  const target = await findResource(context, uri, true);
  return request(context, {
    server: target.server,
    params: { ref: { ...ref, uri: target.uri }, ...rest },
    uri: target.uri,
    identity: ref,
  });
}

/** `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/update`. */
export async function taskRequest(context: RequestContext): Promise<Handled> {
  const { taskId: sealed, _meta, ...rest } = context.request.params;
  requireTasks(context.client);
  const task = await openTask(context, sealed);
  const { server, tool, taskId } = task;
  const { parts, user } = context;
  // The rules may have changed since the tool was called.
  const [isShown] = await visibleTasks(context, [task]);
  if (!isShown) throw new FailedRequest(unknownTask(), { server, tool, outcome: "refused" });
  parts.tasks.remember(user, task);
  return request(context, { server, params: { ...rest, taskId }, identity: sealed, task });
}

const TASKS = "io.modelcontextprotocol/tasks";

/** Modern clients declare the extension with each request. */
function requireTasks({ era, capabilities }: RequestContext["client"]): void {
  const { extensions } = capabilities;
  if (era === "legacy" || (isRecord(extensions) && extensions[TASKS] !== undefined)) return;
  const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } };
  throw new Fault(MISSING_CAPABILITY, `Missing required client capability: ${TASKS}`, { data, status: 400 });
}

/**
 * `tasks/list` of a legacy client: the tasks that this user has begun through the gateway. The servers are asked about each, because their
 * own lists may have the tasks of all users.
 */
export async function listTasks(context: RequestContext): Promise<Handled> {
  const { user, client, parts, request } = context;
  // All tasks fit into one page.
  if (request.params["cursor"] !== undefined) throw badCursor();
  const { pool } = user.port;
  const known = (await parts.tasks.list(user)).filter(({ server }) => pool.configOf(server) !== undefined);
  const isShown = await visibleTasks(context, known);
  const shown = known.filter((_, index) => isShown[index]);
  const tasks = await mapConcurrently(shown, TASKS_AT_ONCE, (task) => currentTask(context, task));
  return { json: resultText(client, { tasks: tasks.flat() }) };
}

/** Requests about tasks at once, for one list. */
const TASKS_AT_ONCE = 8;
/** A server that needs longer is left out of the list. */
const LIST_MS = 10_000;

/** The task as its server describes it now. Nothing if the server does not know it any more, or fails. */
async function currentTask(context: RequestContext, task: UserTask): Promise<Fields[]> {
  const { user, exchange, parts } = context;
  const { server, taskId, id } = task;
  try {
    const sent = { server, method: "tasks/get", params: { taskId } };
    const limits = { signal: exchange.signal, timeoutMs: LIST_MS, hooks: createHooks(context) };
    const { _meta, ...fields } = await sendRequest(user.port, sent, limits);
    parts.tasks.remember(user, task);
    parts.tasks.observe(user, task, fields["status"]);
    return [{ ...fields, taskId: id }];
  } catch (error) {
    if (error instanceof ToolCallError && error.rpcCode === INVALID_PARAMS)
      await parts.tasks.forget(user, task).catch(parts.report);
    return [];
  }
}

/** Passes the request on. Rounds of `input_required` pass through it. */
function request(context: RequestContext, wanted: ServerRequest): Promise<Handled> {
  const { user } = context;
  const { method, params: given } = context.request;
  const { server, params, uri, prompt, identity, task } = wanted;
  const facts = { server, tool: uri ?? prompt ?? task?.tool };
  return withFacts(facts, async () => {
    if (uri !== undefined || prompt !== undefined) {
      const args = isRecord(params["arguments"]) ? params["arguments"] : undefined;
      await checkRead(context, { method, server, uri, prompt, args });
    }
    if (nextHop(given) > MAX_HOPS) throw invalidParams("The request has passed too many gateways");
    const inputResponses = isRecord(given["inputResponses"]) ? given["inputResponses"] : undefined;
    const round = await openRound(context, identity);
    if (round?.kind === "parked") return answerParked(context, round, inputResponses ?? {});
    if (round !== undefined && (round.kind !== "server" || round.server !== server)) throw badState();
    const _meta = passedRequestMeta(context);
    const sent = { server, method, params: { ...params, _meta }, uri, prompt };
    return runParkable(context, {
      identity,
      inputResponses,
      facts,
      async run(signal, ask) {
        const { resultType, ...fields } = await sendRequest(user.port, sent, {
          hooks: createHooks(context, ask),
          round: { inputResponses, requestState: round?.state },
          signal,
          onProgress: progressOf(context),
        });
        const isQuestion = resultType === "input_required";
        return { fields, server, resultType: isQuestion ? "input_required" : undefined };
      },
      finish: (waiting, outcome) => finish(waiting, outcome, wanted),
      fail(_waiting, error) {
        throw error;
      },
    });
  });
}

async function finish(
  context: RequestContext,
  { fields, server, resultType }: CallOutcome,
  { identity, cache, task }: ServerRequest,
): Promise<Handled> {
  const { client } = context;
  if (resultType === "input_required") {
    const { ttlMs: _, cacheScope: __, ...question } = fields;
    return passQuestion(context, { fields: question, server }, identity);
  }
  const { parts, user, request } = context;
  // The result of a task is its end.
  const status = request.method === "tasks/result" ? "completed" : fields["status"];
  if (task !== undefined) parts.tasks.observe(user, task, status);
  const renamed = await withClientNames(context, server, fields);
  if (cache === undefined || client.era === "legacy") return { json: resultText(client, renamed) };
  return { json: resultText(client, { ...renamed, ...stricterCache(context) }, { cache }) };
}

/** What the server says about keeping the result holds, unless the result depends on answers of the client or on the user. */
function stricterCache({ request, parts }: RequestContext): Partial<CachePolicy> {
  const { inputResponses, requestState } = request.params;
  if (inputResponses !== undefined || requestState !== undefined) return NOT_CACHED;
  return parts.isSameForAll ? {} : { cacheScope: "private" };
}
