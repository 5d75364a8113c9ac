/** A call that a program of a client makes: decided by the policy and written to the audit log like a call of that client. */
import { AuthError, type Fields, sleep, ToolCallError, toToolportError } from "@toolport/base";
import type { CallToolOptions, ToolResult } from "@toolport/core";
import { withoutProgressToken } from "@toolport/core/internal";
import { askForLogin } from "../calls/ask-for-login.js";
import { askOnStream, createHooks, passedRequestMeta } from "../calls/client-hooks.js";
import { withClientNames } from "../calls/client-names.js";
import { decideCall, decideFallback, refusalNow } from "../calls/decide-call.js";
import { callOwnTool, findForCall, type OwnAnswer } from "../calls/own-tools.js";
import type { ToolEntry } from "../lists/list-entries.js";
import { type AskClient, capabilityKeyOf, onlyQuestions } from "../message.js";
import {
  FailedRequest,
  failureOf,
  type Handled,
  type RequestContext,
  type RequestFacts,
} from "../request-context.js";
import { toText } from "../results.js";
import type { GatewayUser, GatewayUsers } from "../users.js";

export interface InnerCall {
  /** Public name of the tool. */
  readonly name: string;
  readonly args: Fields;
  /** Aborts when the program ends. */
  readonly signal: AbortSignal;
  /** Shared by all calls of the program. */
  readonly limits: Pick<ProgramLimits, "enter">;
  /** @default asks on the stream of the request */
  readonly ask: AskClient | undefined;
}

/** Rejects if the call is refused or fails. */
export async function callInnerTool(outer: RequestContext, call: InnerCall): Promise<ToolResult> {
  const context = innerContext(outer, call);
  const { audit } = context.parts;
  const { principal } = context.client;
  const { method } = context.request;
  const startedAt = performance.now();
  let facts: RequestFacts = { tool: call.name, args: call.args };
  let leave: (() => void) | undefined;
  try {
    leave = await call.limits.enter(call.args, call.signal);
    await audit?.space(call.signal);
    const answer = await decideAndRun(outer, context, call);
    facts = { ...facts, ...answer.facts };
    return answer.result;
  } catch (error) {
    const failure = failureOf(error);
    const { reason, facts: asked = {} } =
      failure.reason instanceof AuthError ? withLink(context, failure.reason) : failure;
    const { code } = toToolportError(reason);
    facts = { ...facts, outcome: "error", code, ...failure.facts, ...asked };
    throw reason;
  } finally {
    leave?.();
    const { outcome = "ok", ...more } = facts;
    audit?.record({ principal, method, ...more, outcome, durationMs: performance.now() - startedAt });
  }
}

/**
 * The call as a request of its own. A program waits for the answers to questions, as a legacy client does: the way of modern clients
 * ends the request that the program belongs to, which `ask` does.
 */
function innerContext(outer: RequestContext, { name, args, signal, ask }: InnerCall): RequestContext {
  const { client, exchange, request } = outer;
  // Tasks and other extensions belong to requests that the client itself sends.
  const capabilities = onlyQuestions(client.capabilities);
  const askOnExchange: RequestContext["exchange"]["ask"] =
    ask === undefined
      ? exchange.ask
      : async (method, params, stop) => ({
          id: request.id,
          result: await ask({ method, params: withoutProgressToken(params) }, stop),
        });
  const wantsNoLogs = client.era === "modern" && client.logLevel === undefined;
  return {
    ...outer,
    client: { ...client, era: "legacy", capabilities, capabilityKey: capabilityKeyOf(capabilities) },
    exchange: {
      signal,
      header: undefined,
      notify: (text) => {
        if (!wantsNoLogs) exchange.notify(text);
      },
      ask: askOnExchange,
      hold: undefined,
    },
    request: { id: request.id, method: "tools/call", params: { name, arguments: args } },
  };
}

async function decideAndRun(
  outer: RequestContext,
  context: RequestContext,
  { name, args, signal }: InnerCall,
): Promise<OwnAnswer> {
  const { parts, user, client } = context;
  const { port } = user;
  // A tool may be gone, or hidden from the user, since the program began.
  const entry = port.catalog.entry(name);
  const own = entry === undefined ? callOwnTool(context, name, args) : undefined;
  if (own !== undefined) return own;
  const { info, source } = entry ?? (await findForCall(context, name, signal));
  const facts = { server: info.server, tool: source.sourceName, definition: source.raw };
  try {
    if (!parts.offers(client.principal, info)) throw refusal(`There is no tool named ${name}`, info.server);
    const result = await runDecided(outer, context, { info, source });
    return { result, facts: { ...facts, server: result.server, outcome: result.isError ? "error" : "ok" } };
  } catch (error) {
    const failure = failureOf(error);
    throw new FailedRequest(failure.reason, { ...facts, ...failure.facts });
  }
}

/** Runs the call if the policy allows it. */
async function runDecided(
  outer: RequestContext,
  context: RequestContext,
  entry: ToolEntry,
): Promise<ToolResult> {
  const { user, request, exchange } = context;
  const { port } = user;
  const { arguments: args } = request.params as { arguments: Fields };
  const { server, sourceName: tool } = entry.info;
  // A client that is asked on the stream answers there: no round follows.
  const approval = { round: undefined, inputResponses: undefined, identity: undefined };
  const decided = await decideCall(context, entry, args, approval);
  if ("answer" in decided)
    throw new FailedRequest(refusal(textIn(decided.answer), server), decided.answer.facts ?? {});
  const denied = new AbortController();
  const hooks = createHooks(context, async (question, stop) => {
    const given = await askOnStream(context, question, stop);
    const refused = await refusalNow(context, { server, tool, args });
    if (refused === undefined) return given;
    denied.abort(refused);
    throw refused;
  });
  const options: CallToolOptions = {
    signal: AbortSignal.any([exchange.signal, denied.signal]),
    meta: passedRequestMeta(outer),
    ...(decided.isExact && { checkArguments: "strict" }),
  };
  const { result } = await port.run(entry, args, options, {
    hooks,
    admitFallback: (call) => decideFallback(context, call, decided.isApproved),
  });
  return { ...result, ...(await withClientNames(context, result.server, { ...result })) };
}

const refusal = (what: string, server: string): ToolCallError =>
  new ToolCallError({ code: "REFUSED", what, server, outcome: "unsent" });

/** The program gets the address of the page, because it cannot wait for a login. */
function withLink(context: RequestContext, error: AuthError): { reason: AuthError; facts?: RequestFacts } {
  const asked = askForLogin({ ...context, client: { ...context.client, capabilities: {} } }, error, {
    identity: undefined,
    isApproved: false,
  });
  if (asked === undefined) return { reason: error };
  const { code, server, outcome } = error;
  const reason = new AuthError({ code, server, outcome, what: textIn(asked) });
  return { reason, facts: asked.facts ?? {} };
}

/** The text of a result that has one text block. */
const textIn = ({ json }: Handled): string =>
  (JSON.parse(toText(json)) as { content: [{ text: string }] }).content[0].text;

/** A call that would have to wait longer for the rate of its user fails. */
const MAX_WAIT_MS = 10_000;

export class ProgramLimits {
  /** The request `execute` has a place among the requests of the user. One call uses it, so that a program can always go on. */
  #isOwnPlaceUsed = false;

  constructor(
    private readonly users: GatewayUsers,
    private readonly user: GatewayUser,
  ) {}

  /**
   * Waits until the user may make one more request. A program is slowed down where a client gets 429, because its earlier calls
   * have run already.
   *
   * @param args large ones wait for their turn among the large bodies of the user
   * @returns a function to call when the call is over
   */
  async enter(args: Fields, signal: AbortSignal): Promise<() => void> {
    await this.#waitForRate(signal);
    await this.users.turn(this.user, JSON.stringify(args).length, signal);
    for (;;) {
      if (!this.#isOwnPlaceUsed) {
        this.#isOwnPlaceUsed = true;
        return () => {
          this.#isOwnPlaceUsed = false;
          this.users.wake(this.user);
        };
      }
      const leave = this.users.tryPlace(this.user);
      if (leave !== undefined) return leave;
      await this.users.freed(this.user, signal);
    }
  }

  async #waitForRate(signal: AbortSignal): Promise<void> {
    const end = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const waitMs = this.users.takeRate(this.user);
      if (waitMs === 0) return;
      if (performance.now() + waitMs > end)
        throw new ToolCallError({
          code: "OVERLOADED",
          what: "The user has made more requests than the gateway allows in this time",
          next: "Make fewer calls, or run the rest of the program later",
          outcome: "unsent",
        });
      await sleep(waitMs, signal);
    }
  }
}
