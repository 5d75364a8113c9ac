/** A GET on the MCP endpoint: the stream the server may always write to, or the rest of a broken answer stream. */
import type { ConnectionError } from "../../errors/connection-error.js";
import { backoffMs } from "../../util/backoff.js";
import { pause } from "../../util/sleep.js";
import { badResponse, sessionLost, statusError } from "./answer-error.js";
import { collectBody } from "./collect-body.js";
import { type EndpointContext, REFUSAL_LIMITS } from "./endpoint-context.js";
import { redactHeaders } from "./endpoint-headers.js";
import { ownEvents, sharedEvents } from "./event-body.js";
import { lightResponse, noStream } from "./light-response.js";
import { mediaType } from "./media-type.js";
import { type OpenRequest, streamCut } from "./request-ledger.js";
import { parseRetryAfter } from "./retry-after.js";
import { asRpcError, parseJson } from "./rpc-answer.js";
import type { WireAnswer, WireRequest } from "./wire.js";
import { toResponse } from "./wire-response.js";

/** The first revision without GET streams and resumption. */
const STATELESS_SINCE = "2026-07-28";

const decoder = new TextDecoder();
const isEventStream = ({ status, headers }: WireAnswer): boolean =>
  status >= 200 && status < 300 && mediaType(headers.get("content-type")) === "text/event-stream";

/** Streams of one connection. */
export class EndpointStreams {
  readonly #context: EndpointContext;
  #listened = false;
  /** Listening streams in a row that ended without a single event. */
  idleEnds = 0;

  constructor(context: EndpointContext) {
    this.#context = context;
  }

  async get(request: WireRequest): Promise<Response> {
    const token = request.headers["last-event-id"];
    if (token !== undefined) {
      const { ledger } = this.#context;
      const waiting = ledger.waiting(token);
      if ((request.headers["mcp-protocol-version"] ?? "") >= STATELESS_SINCE) {
        for (const own of waiting) ledger.cut(own);
        return noStream();
      }
      if (waiting.length > 0) return this.#resume(request, waiting);
      if (ledger.takeDead(token)) return noStream();
    }
    return this.#listen(request);
  }

  /** One try: whoever waits for the rest of an answer has to know at once that it will not come. */
  async #resume(request: WireRequest, waiting: readonly OpenRequest[]): Promise<Response> {
    const { open, ledger, maxMessageBytes } = this.#context;
    const giveUp = (error: ConnectionError) => {
      for (const own of waiting) ledger.cut(own, error);
      return noStream();
    };
    let answer: WireAnswer;
    try {
      answer = await open(request);
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      return giveUp(streamCut(error));
    }
    if (isEventStream(answer)) {
      for (const own of waiting) own.streamEnded = false;
      const stream = () =>
        ownEvents(answer.body, {
          maxBytes: maxMessageBytes,
          onOversized: giveUp,
          onEnd: (cause) => {
            for (const own of waiting) Object.assign(own, { streamEnded: true, cause });
          },
        });
      return lightResponse(answer, request.url, { stream });
    }
    const bytes = await readRefusal(answer);
    if ((answer.status === 401 || answer.status === 403) && waiting.some((own) => !own.challenged)) {
      // A token may run out between two polls: the SDK gets one chance to renew it.
      for (const own of waiting) own.challenged = true;
      return toResponse(answer, bytes);
    }
    if (this.#meansLost(request, answer, bytes)) {
      const error = sessionLost(answer.status, "unknown");
      this.#context.onSessionLost(error);
      return giveUp(error);
    }
    return giveUp(streamCut(refusalError(answer, request, bytes)));
  }

  /** Tries until there is a stream, or the server says that it has none. The wait ends with the connection. */
  async #listen(request: WireRequest): Promise<Response> {
    const signal = request.signal ?? undefined;
    for (let attempt = 2; ; attempt++) {
      const answer = await this.#context.open(request).catch(() => {
        if (signal?.aborted) throw signal.reason;
        return undefined;
      });
      let waitMs = backoffMs(attempt);
      if (answer !== undefined) {
        if (isEventStream(answer))
          return lightResponse(answer, request.url, { stream: () => this.#shared(answer) });
        const bytes = await readRefusal(answer);
        const { status } = answer;
        if (status === 401 || status === 403 || (status >= 300 && status < 400))
          return toResponse(answer, bytes);
        if (status !== 429 && (status < 500 || status === 501)) {
          if (this.#meansLost(request, answer, bytes))
            this.#context.onSessionLost(sessionLost(status, "unsent"));
          return noStream();
        }
        waitMs = Math.max(waitMs, parseRetryAfter(answer.headers.get("retry-after")) ?? 0);
      }
      await pause(waitMs, signal);
    }
  }

  #shared(answer: WireAnswer): ReadableStream<Uint8Array> {
    this.#listened = true;
    this.idleEnds++;
    return sharedEvents(answer.body, {
      maxBytes: this.#context.maxMessageBytes,
      onDiscard: this.#context.onDiscard,
      onBytes: () => {
        this.idleEnds = 0;
      },
      onEnd: () => {},
    });
  }

  /** A server without GET may say 404 as well; it is about the session if GET has worked before or MCP says so. */
  #meansLost(request: WireRequest, { status }: WireAnswer, bytes: Uint8Array): boolean {
    if (request.headers["mcp-session-id"] === undefined) return false;
    if (status !== 404 && status !== 400 && status !== 410) return false;
    return this.#listened || (status !== 400 && asRpcError(parseJson(decoder.decode(bytes))) !== undefined);
  }
}

async function readRefusal(answer: WireAnswer): Promise<Uint8Array> {
  const collected = await collectBody(answer.body, REFUSAL_LIMITS).catch(() => undefined);
  return collected?.bytes ?? new Uint8Array(0);
}

function refusalError(answer: WireAnswer, request: WireRequest, bytes: Uint8Array): ConnectionError {
  const redact = redactHeaders(request.headers);
  if (answer.status >= 400) return statusError(answer, bytes, redact);
  return badResponse({ answer, why: "is no event stream", bytes, redact });
}
