/** Creates the session of a connection: requests of both eras, and of a gateway's clients. */
import type { TransportKind } from "../config/server-config.js";
import { type ChangeWatch, watchResource } from "./change-watch.js";
import { closedDuringInput } from "./channel-errors.js";
import { withElicitation } from "./era.js";
import type { Handshake } from "./handshake.js";
import { inputPauseOf } from "./input-pause.js";
import { type InputRoundsParts, needsInput, runInputRounds } from "./input-rounds.js";
import type { LazyClient } from "./lazy-client.js";
import { throwUnsentIfRefused } from "./refused-state.js";
import type { RelayRequests } from "./relay-requests.js";
import type { RelayedCalls } from "./relayed-calls.js";
import type { RequestChannel } from "./request-channel.js";
import { CancelledQuestions } from "./server-requests/cancelled-questions.js";
import type { RequestResponder } from "./server-requests/request-responder.js";
import type { UrlElicitations } from "./server-requests/url-elicitations.js";
import type { Session, SessionRequestOptions } from "./session.js";
import { createRest } from "./session-rest.js";
import { completeResult, hasResultType, markDependsOnInput } from "./session-result.js";

interface SessionParts {
  server: string;
  transport: TransportKind;
  handshake: Handshake;
  client: LazyClient;
  channel: RequestChannel;
  watch: ChangeWatch;
  /** Responds to requests of the server. */
  responder: RequestResponder;
  /** Whether the server may send requests during a call, so that calls must be tracked. */
  tracksCalls: boolean;
  /** Whether a handler answers the questions of the server to the user. */
  asksUser: boolean;
  /** Handles legacy servers that demand a web page before they respond. */
  urlElicitations: UrlElicitations;
  /** Set if the connection was opened with the capabilities of a gateway's clients. */
  calls?: RelayedCalls | undefined;
  unproven: boolean;
  /** Legacy servers: opens the stream for notifications, unless it is open. Returns a function that closes it. */
  openStream: () => () => void;
  endSession: () => Promise<void>;
}

/** Creates the session of a connection after its handshake. */
export function createSession({
  server,
  transport,
  handshake,
  client,
  channel,
  watch,
  responder,
  tracksCalls,
  asksUser,
  urlElicitations,
  calls,
  unproven,
  openStream,
  endSession,
}: SessionParts): Session {
  const { era, protocolVersion, serverInfo, capabilities, instructions, result } = handshake;
  let proven = !unproven;
  let closing: Promise<void> | undefined;
  const rest = createRest({ era, transport, result, tracksCalls, channel });
  /** `_meta` of requests that may be suspended. */
  let suspendEnvelope: Record<string, unknown> | undefined;
  let cancelledQuestions: CancelledQuestions | undefined;
  /** Loaded with the first request of a gateway's client. */
  let relayRequests: RelayRequests | undefined;
  /** Requests that collect input: between two rounds the channel has no open request for them. */
  const rounds = new Set<Promise<unknown>>();
  const closed = new AbortController();
  channel.closed.then((error) => closed.abort(error ?? closedDuringInput(server)));

  function request(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    if (options.relay !== undefined) return requestRelayed(method, params, options);
    if (era === "modern") return requestModern(method, params, options);
    return CALL_METHODS.has(method)
      ? callLegacy(method, params, options)
      : requestLegacy(method, params, options);
  }

  function requestRelayed(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    if (relayRequests !== undefined) return relayRequests.request(method, params, options.relay!, options);
    return import("./relay-requests.js").then(({ RelayRequests }) => {
      const onResponse = () => {
        proven = true;
      };
      const parts = { server, handshake, channel, calls, closed: closed.signal, track, onResponse };
      relayRequests ??= new RelayRequests(parts);
      return relayRequests.request(method, params, options.relay!, options);
    });
  }

  function requestLegacy(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const send = () => channel.request(method, params, options);
    return send()
      .catch((error: unknown) => urlElicitations.after(error, send, { options }))
      .then((result) => {
        proven = true;
        return completeResult(server, method, result);
      });
  }

  function requestModern(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    if (options.suspendable !== undefined) return requestSuspendable(method, params, options);
    const startedAt = performance.now();
    return channel.request(method, params, options).then((result) => {
      proven = true;
      return hasResultType(result) && needsInput(method, result)
        ? collectInput(result, { method, params, options, startedAt })
        : completeResult(server, method, result);
    });
  }

  /** Declares elicitation for this request, and begins with the round that a person has answered. */
  async function requestSuspendable(
    method: string,
    params: Record<string, unknown>,
    { suspendable, ...given }: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const startedAt = performance.now();
    suspendEnvelope ??= withElicitation(channel.envelope ?? {});
    const options = { ...given, envelope: suspendEnvelope };
    const { resumed } = suspendable!;
    const { inputResponses, requestState } = resumed?.by === "responses" ? resumed : {};
    const sending = channel.request(
      method,
      {
        ...params,
        ...(inputResponses !== undefined && { inputResponses }),
        ...(requestState !== undefined && { requestState }),
      },
      options,
    );
    const result = await (requestState === undefined ? sending : sending.catch(throwUnsentIfRefused));
    proven = true;
    if (hasResultType(result) && needsInput(method, result))
      return collectInput(result, { method, params, options, startedAt, suspendable });
    const complete = completeResult(server, method, result);
    return resumed === undefined ? complete : markDependsOnInput(complete);
  }

  async function collectInput(
    first: unknown,
    request: Pick<InputRoundsParts, "method" | "params" | "options" | "startedAt" | "suspendable">,
  ): Promise<Record<string, unknown>> {
    const { method } = request;
    const running = runInputRounds(first, {
      ...request,
      server,
      responder,
      closed: closed.signal,
      send: (next, limits) => channel.request(method, next, limits),
    });
    const result = await track(running);
    if (inputPauseOf(result as object) !== undefined) return result as Record<string, unknown>;
    return markDependsOnInput(completeResult(server, method, result));
  }

  async function track<Result>(running: Promise<Result>): Promise<Result> {
    rounds.add(running);
    try {
      return await running;
    } finally {
      rounds.delete(running);
    }
  }

  /** Tracks the call: requests of a legacy server do not name the call they belong to. */
  function callLegacy(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const tool = options.tool ?? String(params["name"]);
    if (options.suspendable === undefined || asksUser) return callTracked(tool, method, params, options);
    cancelledQuestions ??= new CancelledQuestions(server, channel);
    return cancelledQuestions.during(tool, options, () => callTracked(tool, method, params, options));
  }

  function callTracked(
    tool: string,
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const { suspendable } = options;
    const tracked = tracksCalls
      ? responder.beginCall(tool, params["taskId"] as string | undefined, options)
      : undefined;
    const finish = (result: unknown) => {
      proven = true;
      if (tracked !== undefined) responder.endCall(tracked);
      return completeResult(server, method, result);
    };
    return channel.request(method, params, options).then(finish, async (error: unknown) => {
      const send = () => channel.request(method, params, options);
      try {
        return finish(await urlElicitations.after(error, send, { tool, options, suspendable }));
      } catch (failure) {
        if (tracked !== undefined) responder.endCall(tracked, failure);
        throw failure;
      }
    });
  }

  return {
    server,
    transport,
    era,
    protocolVersion,
    serverInfo,
    capabilities,
    instructions,
    discover: era === "modern" ? result : undefined,
    get unproven() {
      return !proven;
    },
    get hasSessionId() {
      return channel.sessionId !== undefined;
    },
    get droppedAnswers() {
      return channel.droppedAnswers;
    },
    get received() {
      return channel.received;
    },
    get inFlight() {
      return channel.inFlight + rounds.size;
    },
    client: client.get,
    closed: channel.closed,
    request,
    answerInputRequests: (requests, context) => responder.respondAll(Object.entries(requests), context),
    async ping(options) {
      await request(era === "modern" ? "server/discover" : "ping", {}, options);
    },
    onSilence(listener) {
      channel.onsilence = listener;
    },
    onListChanged: (listener) => watch.on(listener),
    onListGap: (listener) => watch.onGap(listener),
    beginRead: (list) => watch.beginRead(list),
    isReporting: (list) => watch.isReporting(list),
    async listen() {
      if (era === "legacy") {
        const stop = openStream();
        // The stream may be open already.
        watch.recheck();
        return stop;
      }
      await watch.keepListening();
      return () => watch.stopListening();
    },
    watchResource: (uri, onGap, limits) =>
      watchResource({
        session: { server, era, capabilities, request, openStream },
        watch,
        uri,
        onGap,
        limits,
      }),
    keepAtServer: rest.keepAtServer,
    get resume() {
      return rest.resume();
    },
    async retire() {
      watch.close();
      await Promise.allSettled(rounds);
      await channel.drain();
      await close();
    },
    close,
  };

  function close(): Promise<void> {
    closing ??= (async () => {
      watch.close();
      if (!rest.isKept()) await endSession();
      await client.close();
      // The SDK's client closes the transport too, but may never have been created.
      await channel.close();
    })();
    return closing;
  }
}

/** Methods during which a legacy server may send requests on behalf of a tool call. */
const CALL_METHODS = new Set(["tools/call", "tasks/result"]);
