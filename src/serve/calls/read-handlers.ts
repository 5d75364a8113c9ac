/** `resources/read`, `prompts/get`, `completion/complete` and `tasks/*`: requests about one thing of one server. */
import { relayRequest } from "../../port/relay-request.js";
import type { Relay } from "../../protocol/relay.js";
import { Fault, INTERNAL_ERROR, INVALID_PARAMS, invalidParams, MISSING_CAPABILITY } from "../faults.js";
import { resourceNames } from "../lists/list-handlers.js";
import { type Fields, isFields } from "../message.js";
import type { RequestContext } from "../request-context.js";
import { type CachePolicy, NOT_CACHED, resultText } from "../results.js";
import { withPublicUris } from "./call-tool.js";
import { createRelay, isTooFar, nextHop, passedRequestMeta, progressOf } from "./relayed.js";
import { type NextRound, openRound, sealRound } from "./request-state.js";
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

export async function readResource(context: RequestContext): Promise<string> {
  const { uri } = context.request.params;
  if (typeof uri !== "string") throw invalidParams("The URI of the resource is missing");
  const names = await resourceNames(context.user.port, context.exchange.signal);
  const target = names.resolve(uri);
  return relay(context, {
    server: target.server,
    params: { uri: target.uri },
    uri: target.uri,
    identity: uri,
    cache: NOT_CACHED,
  });
}

export async function getPrompt(context: RequestContext): Promise<string> {
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

async function findPrompt(
  { user, exchange }: RequestContext,
  name: string,
): Promise<{ server: string; source: string }> {
  const { catalog } = user.port;
  if (catalog.prompt(name) === undefined) await user.port.need("prompts", { signal: exchange.signal });
  const found = catalog.prompt(name);
  if (found !== undefined) return { server: found.server, source: found.name };
  throw new Fault({ code: INVALID_PARAMS, message: `Unknown prompt: ${name.slice(0, 200)}` });
}

export async function complete(context: RequestContext): Promise<string> {
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
  const { port } = context.user;
  const names = await resourceNames(port, context.exchange.signal);
  const target = names.resolveTemplate(uri) ?? names.resolve(uri);
  return relay(context, {
    server: target.server,
    params: { ref: { ...ref, uri: target.uri }, ...rest },
    uri: target.uri,
    identity: ref,
  });
}

/** `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/update`. */
export async function taskRequest(context: RequestContext): Promise<string> {
  const { taskId: sealed, _meta, ...rest } = context.request.params;
  requireTasks(context.client);
  const { server, taskId } = openTaskId(context, sealed);
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

/** Passes the request on. Rounds of `input_required` pass through it. */
async function relay(context: RequestContext, wanted: ServerRequest): Promise<string> {
  const { request, exchange, user, parts, client, facts } = context;
  const { server, params, uri, prompt, identity, cache, taskId } = wanted;
  facts.server = server;
  facts.tool = uri ?? prompt;
  await checkPolicy(context, wanted);
  const hops = nextHop(request.params);
  if (isTooFar(hops)) throw invalidParams("The request has passed too many gateways");
  const round = openRound(context, identity);
  if (round !== undefined && (round.kind !== "server" || round.server !== server))
    throw invalidParams("Invalid or expired requestState");
  const { inputResponses } = request.params;
  const way = createRelay(context, {
    inputResponses: isFields(inputResponses) ? inputResponses : undefined,
    requestState: round?.state,
  });
  const _meta = passedRequestMeta(request.params, { baggage: parts.baggage, hops });
  const sent = { server, method: request.method, params: { ...params, _meta }, uri, prompt };
  const result = await relayRequest(user.port, sent, way, {
    signal: exchange.signal,
    onProgress: progressOf(context),
  } as never);
  if (isQuestion(way, result)) return passQuestion(context, result, { server, identity });
  const renamed = await withPublicUris(context, server, sealTaskIds(context, server, result, taskId));
  facts.outcome = "ok";
  return resultText(client, renamed, cache);
}

/** Throws if the policy does not allow the request. There is no approval for reading. */
async function checkPolicy(
  { parts, client, request, facts }: RequestContext,
  { server, uri, prompt, params }: ServerRequest,
): Promise<void> {
  if (parts.policy === undefined || (uri === undefined && prompt === undefined)) return;
  const { principal, scopes } = client;
  const { method } = request;
  const args = isFields(params["arguments"]) ? params["arguments"] : undefined;
  const deciding = parts.policy.decide({ principal, scopes, method, server, uri, prompt, args });
  const { effect, reason } = deciding instanceof Promise ? await deciding : deciding;
  if (effect === "allow") return;
  facts.outcome = "refused";
  throw new Fault({
    code: INTERNAL_ERROR,
    message: `The gateway refused this request: ${reason ?? "the policy does not allow it"}`,
    data: { code: "REFUSED", retryable: false, outcome: "unsent" },
  });
}

const isQuestion = (way: Relay, result: Fields): boolean =>
  way.isInputRequired === true || result["resultType"] === "input_required";

function passQuestion(
  context: RequestContext,
  result: Fields,
  { server, identity }: { server: string; identity: unknown },
): string {
  const { requestState, resultType, ...fields } = result;
  const state = typeof requestState === "string" ? requestState : undefined;
  const round: NextRound = { kind: "server", server, state };
  context.facts.outcome = "waiting";
  const sealed = { ...fields, requestState: sealRound(context, round, identity) };
  return resultText(context.client, sealed, undefined, "input_required");
}
