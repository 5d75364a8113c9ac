/** The waist of the house: a live conversation with one server, as the rooms above see it. */
import type { Client, Implementation, ServerCapabilities } from "@modelcontextprotocol/client";
import type { TransportKind } from "../config/server-config.js";
import { ConnectionError } from "../errors/connection-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { type ListName, type ListWatch, watchResource } from "./change-watch.js";
import type { Era } from "./era.js";
import type { Handshake } from "./handshake.js";
import { answerRounds, markFromRounds, needsInput, type RoundsFlow } from "./input-rounds.js";
import type { LateClient } from "./lazy-client.js";
import type { Lane, LaneRequestOptions } from "./request-channel.js";
import { answerTogether, type RequestDesk, type ServerRequest } from "./server-requests/request-responder.js";
import type { UrlElicitations } from "./server-requests/url-elicitations.js";

/** What one request may be given. */
export interface SessionRequestOptions extends LaneRequestOptions {
  /** The tool that the request is about, where its parameters do not say so: whoever is asked meanwhile is told. */
  tool?: string | undefined;
}

/** One live connection to one server. It never comes back: after a loss there is a new one. */
export interface Session {
  readonly server: string;
  readonly transport: TransportKind;
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The era came from memory and nothing has been answered on this connection yet. */
  readonly unproven: boolean;
  /** The server gave the connection an id, and may forget it. */
  readonly hasSessionId: boolean;
  /** Answers of the server that belonged to no open request, late ones apart. */
  readonly droppedAnswers: number;
  /** Messages that arrived so far: it shows signs of life. */
  readonly received: number;
  /** Requests whose answer is still waited for. */
  readonly inFlight: number;
  /** What a modern server answered to `server/discover`. */
  readonly discover: Readonly<Record<string, unknown>> | undefined;
  /** The SDK's client, for what Toolport does not wrap; loaded when it is first asked for. */
  client(): Promise<Client>;
  /** Resolves when the connection is gone; with the reason if nobody asked for it. */
  readonly closed: Promise<ToolportError | undefined>;
  /**
   * Sends one request and gives back its result. What a modern server wants to know before it answers is answered on
   * the way, within the same limits; such a result is told by `isFromRounds` and must not be cached.
   */
  request(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>>;
  /** Answers what a task of the server's waits for. It does not end with the connection: the task does not either. */
  answer(
    requests: Readonly<Record<string, ServerRequest>>,
    context: { tool: string; signal: AbortSignal },
  ): Promise<Record<string, unknown>>;
  /** Asks for a sign of life: `ping`, or `server/discover` in the modern era, which has no ping. */
  ping(options: LaneRequestOptions): Promise<void>;
  /** Calls back whenever a request timed out and nothing at all arrived while it waited. One listener. */
  onSilence(listener: () => void): void;
  /** Tells when a list of the server's changed. */
  onListChanged(listener: (list: ListName) => void): () => void;
  /**
   * Subscribes to a resource; its changes come as `notifications/resources/updated`. `onGap` is called when some may have
   * been missed. Resolves with what ends the subscription and never rejects.
   */
  watchResource(uri: string, onGap: () => void, limits: LaneRequestOptions): Promise<() => Promise<void>>;
  /** Takes no new requests, lets those under way come to their end, then closes. */
  retire(): Promise<void>;
  /** Ends the conversation: tells the server, closes the transport, leaves nothing behind. */
  close(): Promise<void>;
}

interface SessionParts {
  server: string;
  transport: TransportKind;
  handshake: Handshake;
  client: LateClient;
  lane: Lane;
  watch: ListWatch;
  /** Answers what the server asks meanwhile. */
  desk: RequestDesk;
  /** Asks the user for what a legacy server wants before it answers. */
  urlElicitations: UrlElicitations;
  unproven: boolean;
  endSession: () => Promise<void>;
}

/** Wraps the lane of a connection whose handshake is done. */
export function createSession({
  server,
  transport,
  handshake,
  client,
  lane,
  watch,
  desk,
  urlElicitations,
  unproven,
  endSession,
}: SessionParts): Session {
  const { era, protocolVersion, serverInfo, capabilities, instructions, answer } = handshake;
  let proven = !unproven;
  let closing: Promise<void> | undefined;
  /** Requests between two rounds: the lane does not know of them. */
  const rounds = new Set<Promise<unknown>>();
  const gone = new AbortController();
  lane.closed.then((error) => gone.abort(error ?? lost(server)));

  function request(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    if (era === "modern") return ask(method, params, options);
    return DURING_CALLS.has(method) ? call(method, params, options) : askLegacy(method, params, options);
  }

  function askLegacy(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const send = () => lane.request(method, params, options);
    return send()
      .catch((error: unknown) => urlElicitations.after(error, send, { options }))
      .then((result) => {
        proven = true;
        return completeResult(server, method, result);
      });
  }

  function ask(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const startedAt = performance.now();
    return lane.request(method, params, options).then((result) => {
      proven = true;
      return needsInput(method, result)
        ? goOn(result, { method, params, options, startedAt })
        : completeResult(server, method, result);
    });
  }

  async function goOn(
    first: unknown,
    asked: Pick<RoundsFlow, "method" | "params" | "options" | "startedAt">,
  ): Promise<Record<string, unknown>> {
    const { method } = asked;
    const answering = answerRounds(first, {
      ...asked,
      server,
      desk,
      gone: gone.signal,
      send: (next, limits) => lane.request(method, next, limits),
    });
    rounds.add(answering);
    try {
      return markFromRounds(completeResult(server, method, await answering));
    } finally {
      rounds.delete(answering);
    }
  }

  /** What a legacy server asks during a call does not say which call it is for, so calls are noted down. */
  function call(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>> {
    const tool = options.tool ?? String(params["name"]);
    const underWay = desk.beginCall(tool, params["taskId"] as string | undefined);
    const finish = (result: unknown) => {
      proven = true;
      desk.endCall(underWay);
      return completeResult(server, method, result);
    };
    return lane.request(method, params, options).then(finish, async (error: unknown) => {
      const send = () => lane.request(method, params, options);
      try {
        return finish(await urlElicitations.after(error, send, { tool, options }));
      } catch (failure) {
        desk.endCall(underWay, failure);
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
    discover: era === "modern" ? answer : undefined,
    get unproven() {
      return !proven;
    },
    get hasSessionId() {
      return lane.sessionId !== undefined;
    },
    get droppedAnswers() {
      return lane.droppedAnswers;
    },
    get received() {
      return lane.received;
    },
    get inFlight() {
      return lane.inFlight + rounds.size;
    },
    client: client.get,
    closed: lane.closed,
    request,
    answer: (requests, { tool, signal }) => answerTogether(desk, Object.entries(requests), { tool, signal }),
    async ping(options) {
      await request(era === "modern" ? "server/discover" : "ping", {}, options);
    },
    onSilence(listener) {
      lane.onsilence = listener;
    },
    onListChanged: (listener) => watch.on(listener),
    watchResource: (uri, onGap, limits) =>
      watchResource({
        session: { server, era, capabilities, request },
        watch,
        uri,
        onGap,
        limits,
      }),
    async retire() {
      watch.close();
      await Promise.allSettled(rounds);
      await lane.drain();
      await close();
    },
    close,
  };

  function close(): Promise<void> {
    closing ??= (async () => {
      watch.close();
      await endSession();
      await client.close();
      // There may be no client that would have closed it.
      await lane.close();
    })();
    return closing;
  }
}

/** Methods during which a legacy server may ask for something without saying what it belongs to. */
const DURING_CALLS = new Set(["tools/call", "tasks/result"]);

function lost(server: string): ConnectionError {
  return new ConnectionError({
    code: "CLOSED",
    server,
    what: "The connection was closed while the server waited for input",
    next: "Call again",
    retryable: true,
  });
}

/**
 * Results of the modern era say what they are. Absent means complete: earlier servers do not send it, and a later one
 * that forgets it has still answered.
 */
function completeResult(server: string, method: string, result: unknown): Record<string, unknown> {
  if (typeof result !== "object" || result === null || Array.isArray(result))
    throw unusable({ server, what: `The answer to ${method} is not an object`, result });
  const answer = result as Record<string, unknown>;
  if (answer["resultType"] === undefined) return answer;
  const { resultType, ...rest } = answer;
  if (resultType === "complete") return rest;
  // The kind is what tells a task from a result, so it stays.
  if (resultType === "task" && method === "tools/call") return answer;
  const kind = JSON.stringify(resultType);
  throw unusable({
    server,
    what: `The answer to ${method} is of a kind that is not supported (${kind})`,
    result,
  });
}

const unusable = (init: { server: string; what: string; result: unknown }): ToolCallError =>
  new ToolCallError({ code: "PROTOCOL", next: "Report this to the maker of the server", ...init });
