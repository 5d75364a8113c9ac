/** Sends the requests of a gateway's clients on one session, in either era. */
import { askClient } from "./ask-client.js";
import { LOG_LEVEL_META_KEY, withCapabilities } from "./era.js";
import type { Handshake } from "./handshake.js";
import { checkInput, type InputRoundsParts, needsInput, runInputRounds } from "./input-rounds.js";
import type { Relay } from "./relay.js";
import { RelayedCalls } from "./relayed-calls.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";
import type { ServerRequest } from "./server-requests/request-responder.js";
import { completeResult, hasResultType, markDependsOnInput } from "./session-result.js";

type Fields = Record<string, unknown>;

export interface RelayRequestParts {
  readonly server: string;
  readonly handshake: Handshake;
  readonly channel: RequestChannel;
  /** Set for a connection with the capabilities of the clients. */
  readonly calls?: RelayedCalls | undefined;
  /** Aborts when the connection closes. */
  readonly closed: AbortSignal;
  /** Keeps the session open until the promise settles. */
  readonly track: <Result>(running: Promise<Result>) => Promise<Result>;
  /** Called with every response. */
  readonly onResponse: () => void;
}

/** Envelopes of further clients are built anew. */
const MAX_ENVELOPES = 64;

export class RelayRequests {
  readonly #parts: RelayRequestParts;
  readonly #calls: RelayedCalls;
  /** By capability set and log level: an envelope is stringified once. */
  readonly #envelopes = new Map<string, Readonly<Fields>>();

  constructor(parts: RelayRequestParts) {
    this.#parts = parts;
    const { server, channel } = parts;
    this.#calls = parts.calls ?? new RelayedCalls({ server, channel, shared: { hasTurns: false } });
  }

  async request(method: string, given: Fields, relay: Relay, limits: ChannelRequestOptions): Promise<Fields> {
    const { server, channel, handshake, onResponse, track } = this.#parts;
    const isModern = handshake.era === "modern";
    if (!isModern && handshake.capabilities.logging !== undefined) await this.#calls.lowerLevel(relay);
    const startedAt = performance.now();
    const params = relayParams(given, relay);
    const taskId = method === "tasks/result" ? (params["taskId"] as string) : undefined;
    const options = isModern
      ? { ...limits, envelope: this.#envelopeOf(relay), skipsMetaDefaults: true }
      : limits;
    let hasAsked = false;
    const send = async (own: ChannelRequestOptions) => {
      const result = await channel.request(method, params, own);
      onResponse();
      if (!isModern || !hasResultType(result) || !needsInput(method, result)) return result;
      checkInput(result, { server, method });
      relay.isInputRequired = relay.passesInput;
      hasAsked = !relay.passesInput;
      return hasAsked
        ? track(this.#collectInput(result, { method, params, relay, options: own, startedAt }))
        : result;
    };
    const result = await (isModern && relay.onLog === undefined
      ? send(options)
      : this.#calls.run({ method, taskId, relay, options, send, track }));
    if (relay.isInputRequired === true) return result as Fields;
    const complete = completeResult(server, method, result);
    return hasAsked ? markDependsOnInput(complete) : complete;
  }

  #collectInput(
    first: unknown,
    {
      relay,
      ...request
    }: { relay: Relay } & Pick<InputRoundsParts, "method" | "params" | "options" | "startedAt">,
  ): Promise<unknown> {
    const { server, channel, closed } = this.#parts;
    return runInputRounds(first, {
      ...request,
      server,
      closed,
      responder: { respondAll: (requests, { signal }) => askAll(server, relay, requests, signal) },
      send: (next, limits) => channel.request(request.method, next, limits),
    });
  }

  #envelopeOf(relay: Relay): Readonly<Fields> {
    const { channel } = this.#parts;
    const key = `${relay.logLevel ?? ""} ${relay.capabilityKey || JSON.stringify(relay.capabilities)}`;
    let envelope = this.#envelopes.get(key);
    if (envelope === undefined) {
      envelope = relayEnvelope(channel.envelope ?? {}, relay);
      if (this.#envelopes.size >= MAX_ENVELOPES) this.#envelopes.clear();
      this.#envelopes.set(key, envelope);
    }
    return envelope;
  }
}

/**
 * `_meta` of a relayed request to a modern server: version and client of the connection, but the capabilities and the log level
 * of the client.
 *
 * @param own the envelope of the connection
 */
function relayEnvelope(own: Readonly<Fields>, { capabilities, logLevel }: Relay): Readonly<Fields> {
  const envelope = withCapabilities(own, capabilities);
  return logLevel === undefined ? envelope : { ...envelope, [LOG_LEVEL_META_KEY]: logLevel };
}

/** The parameters of the next round, and the task that the client asks for. */
function relayParams(params: Record<string, unknown>, relay: Relay): Record<string, unknown> {
  const { inputResponses, requestState, task } = relay;
  if (inputResponses === undefined && requestState === undefined && task === undefined) return params;
  return {
    ...params,
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
    ...(task !== undefined && { task }),
  };
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
