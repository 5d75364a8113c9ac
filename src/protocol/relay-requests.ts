/** Sends the requests of a gateway's clients on one session, in either era. */

import { LOG_LEVEL_META_KEY, withCapabilities } from "./era.js";
import type { Handshake } from "./handshake.js";
import { needsInput, readInput, runInputRounds } from "./input-rounds.js";
import { askClient, assertDeclared, type Relay } from "./relay.js";
import { RelayedCalls } from "./relayed-calls.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";
import type { ServerRequest } from "./server-requests/request-responder.js";
import { completeResult, hasResultType, markDependsOnInput } from "./session-result.js";

type Fields = Record<string, unknown>;

interface RelayRequestParts {
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

interface RelayedRequest {
  readonly method: string;
  readonly params: Fields;
  readonly relay: Relay;
  /** When the first round began; modern servers only. */
  readonly startedAt: number;
}

export class RelayRequests {
  readonly #parts: RelayRequestParts;
  readonly #calls: RelayedCalls;

  constructor(parts: RelayRequestParts) {
    this.#parts = parts;
    const { server, channel } = parts;
    this.#calls = parts.calls ?? new RelayedCalls(server, channel, { hasTurns: false });
  }

  async request(method: string, given: Fields, relay: Relay, limits: ChannelRequestOptions): Promise<Fields> {
    const { calls, handshake } = this.#parts;
    const isModern = handshake.era === "modern";
    const request = { method, params: relayParams(given, relay), relay, startedAt: performance.now() };
    const envelope = isModern ? relayEnvelope(this.#parts.channel.envelope ?? {}, relay) : undefined;
    const options = isModern ? { ...limits, envelope, skipsMetaDefaults: true } : limits;
    // A server without the capability sends no log messages.
    const canLog = isModern || handshake.capabilities.logging !== undefined;
    if (!isModern && canLog && relay.logLevel !== undefined) await this.#calls.lowerLevel(relay.logLevel);
    // No question of a modern server can be for this client: it answers them with the next request.
    const isTracked = (canLog && relay.onLog !== undefined) || (!isModern && calls !== undefined);
    if (!isTracked) return this.#send(request, options);
    const taskId = method === "tasks/result" ? String(given["taskId"]) : undefined;
    const send = (own: ChannelRequestOptions) => this.#send(request, own);
    return this.#calls.run({ method, taskId, relay, options, send, track: this.#parts.track });
  }

  async #send(request: RelayedRequest, options: ChannelRequestOptions): Promise<Fields> {
    const { server, handshake, channel, onResponse } = this.#parts;
    const { method, params, relay } = request;
    const result = await channel.request(method, params, options);
    onResponse();
    const asks = handshake.era === "modern" && hasResultType(result) && needsInput(method, result);
    if (!asks) return completeResult(server, method, result);
    const { requests } = readInput(result, { server, method });
    for (const [, question] of requests) assertDeclared(server, relay, question);
    if (!relay.passesInput) return this.#collectInput(result, request, options);
    relay.isInputRequired = true;
    return result as Fields;
  }

  async #collectInput(
    first: unknown,
    { method, params, relay, startedAt }: RelayedRequest,
    options: ChannelRequestOptions,
  ): Promise<Fields> {
    const { server, channel, closed, track } = this.#parts;
    const collecting = runInputRounds(first, {
      server,
      method,
      params,
      options,
      startedAt,
      closed,
      responder: { respondAll: (requests, { signal }) => askAll(server, relay, requests, signal) },
      send: (next, limits) => channel.request(method, next, limits),
    });
    return markDependsOnInput(completeResult(server, method, await track(collecting)));
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
