/** Sends the requests of a gateway's clients on one session, in either era. */
import { ToolCallError } from "../errors/tool-call-error.js";
import type { Era } from "./era.js";
import { checkInput, needsInput, runInputRounds } from "./input-rounds.js";
import { type Relay, relayEnvelope, relayParams } from "./relay.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";
import type { ServerRequest } from "./server-requests/request-responder.js";
import { completeResult, hasResultType, markDependsOnInput } from "./session-result.js";

type Fields = Record<string, unknown>;

export interface RelayRequestParts {
  readonly server: string;
  readonly era: Era;
  readonly channel: RequestChannel;
  /** Aborts when the connection closes. */
  readonly closed: AbortSignal;
  /** Called with every result: the server has responded in its era. */
  onProven(): void;
}

/** Envelopes of further clients are built anew. */
const MAX_ENVELOPES = 64;

export class RelayRequests {
  readonly #parts: RelayRequestParts;
  /** By capability set and log level: an envelope is stringified once. */
  readonly #envelopes = new Map<string, Readonly<Fields>>();

  constructor(parts: RelayRequestParts) {
    this.#parts = parts;
  }

  async request(
    method: string,
    params: Fields,
    relay: Relay,
    options: ChannelRequestOptions,
  ): Promise<Fields> {
    const { era } = this.#parts;
    return era === "modern"
      ? this.#requestModern(method, relayParams(params, relay), relay, options)
      : this.#requestLegacy(method, relayParams(params, relay), options);
  }

  async #requestModern(
    method: string,
    params: Fields,
    relay: Relay,
    given: ChannelRequestOptions,
  ): Promise<Fields> {
    const { server, channel, closed, onProven } = this.#parts;
    const startedAt = performance.now();
    const options = { ...given, envelope: this.#envelopeOf(relay), skipsMetaDefaults: true };
    const result = await channel.request(method, params, options);
    onProven();
    if (!hasResultType(result) || !needsInput(method, result)) return completeResult(server, method, result);
    if (relay.passesInput) {
      checkInput(result, { server, method });
      relay.isInputRequired = true;
      return result as Fields;
    }
    const collected = await runInputRounds(result, {
      server,
      method,
      params,
      options,
      startedAt,
      closed,
      responder: { respondAll: (requests, { signal }) => askAll(server, relay, requests, signal) },
      send: (next, limits) => channel.request(method, next, limits),
    });
    return markDependsOnInput(completeResult(server, method, collected));
  }

  async #requestLegacy(method: string, params: Fields, options: ChannelRequestOptions): Promise<Fields> {
    const { server, channel, onProven } = this.#parts;
    const result = await channel.request(method, params, options);
    onProven();
    return completeResult(server, method, result);
  }

  #envelopeOf(relay: Relay): Readonly<Fields> {
    const { channel } = this.#parts;
    const key = `${relay.logLevel ?? ""} ${relay.capabilityKey}`;
    let envelope = this.#envelopes.get(key);
    if (envelope === undefined) {
      envelope = relayEnvelope(channel.envelope ?? {}, relay);
      if (this.#envelopes.size >= MAX_ENVELOPES) this.#envelopes.clear();
      this.#envelopes.set(key, envelope);
    }
    return envelope;
  }
}

/** The capability that a client declares for each question. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Asks the client of the gateway. Rejects with a `ToolCallError` if the client did not declare the capability. */
export async function askClient(
  server: string,
  relay: Relay,
  { method, params }: ServerRequest,
  signal: AbortSignal,
): Promise<Fields> {
  const capability = Object.hasOwn(CAPABILITIES, method) ? CAPABILITIES[method] : undefined;
  if (capability === undefined || relay.capabilities[capability] === undefined)
    throw new ToolCallError({
      code: "PROTOCOL",
      server,
      what: "The server sent a request for which the client declared no capability",
      next: "Use a client that supports it, or report this to the author of the server",
    });
  return relay.answer({ method, params }, signal);
}

/** Asks everything that one result requests at the same time. The first failure aborts the others. */
async function askAll(
  server: string,
  relay: Relay,
  requests: readonly (readonly [name: string, request: ServerRequest])[],
  signal: AbortSignal,
): Promise<Fields> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  try {
    const answers = requests.map(
      async ([name, request]) => [name, await askClient(server, relay, request, either)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}
