/** A POST to the MCP endpoint: its answer for the SDK, or the error that says why there is none. */
import { ConnectionError } from "../../errors/connection-error.js";
import { badResponse, type Redact, sessionLost, statusError, tooLarge } from "./answer-error.js";
import { collectBody } from "./collect-body.js";
import { type EndpointContext, REFUSAL_LIMITS } from "./endpoint-context.js";
import { redactHeaders } from "./endpoint-headers.js";
import { ownEvents } from "./event-body.js";
import { lightResponse } from "./light-response.js";
import { decodeText, mediaType } from "./media-type.js";
import { type OpenRequest, streamCut } from "./request-ledger.js";
import { answerTo, asRpcError, parseJson } from "./rpc-answer.js";
import type { WireAnswer, WireRequest } from "./wire.js";
import { toResponse } from "./wire-response.js";

/** JSON-RPC codes that servers use for "no such session" (and for much else). */
const SESSION_CODES: ReadonlySet<number> = new Set([-32_000, -32_001, -32_600]);
const NOTHING = new Uint8Array(0);

/**
 * Sends one message.
 *
 * @param own the request it is; undefined for notifications and for answers of ours
 */
export async function post(
  context: EndpointContext,
  request: WireRequest,
  own: OpenRequest | undefined,
): Promise<Response> {
  const answer = await context.open(request);
  const redact = redactHeaders(request.headers);
  if (answer.status < 200 || answer.status >= 300) return refusal({ answer, request, own, redact });
  if (own === undefined || answer.status === 202) return accepted(answer, request.url);
  const type = mediaType(answer.headers.get("content-type"));
  if (answer.status !== 204 && type === "text/event-stream") {
    return lightResponse(answer, request.url, { stream: () => ownStream(context, answer, own) });
  }
  if (answer.status !== 204 && type === "application/json") {
    const json = () => readJson(context, { answer, own, redact, signal: request.signal });
    return lightResponse(answer, request.url, { json });
  }
  const { bytes } = await readRefusal(answer);
  throw badResponse({ answer, why: "is neither JSON nor an event stream", bytes, redact });
}

/** Any success for a message that wants no answer is a 202 to the SDK: it opens its listening stream only after one. */
function accepted(answer: WireAnswer, url: URL): Response {
  if (mediaType(answer.headers.get("content-type")) === "text/event-stream") answer.body.cancel();
  else readRefusal(answer).catch(() => {});
  return lightResponse({ ...answer, status: 202 }, url);
}

function ownStream(
  context: EndpointContext,
  answer: WireAnswer,
  own: OpenRequest,
): ReadableStream<Uint8Array> {
  return ownEvents(answer.body, {
    maxBytes: context.maxMessageBytes,
    onOversized: (error) => context.ledger.cut(own, error),
    onEnd: (cause) => {
      own.streamEnded = true;
      own.cause = cause;
    },
  });
}

interface JsonAnswer {
  readonly answer: WireAnswer;
  readonly own: OpenRequest;
  readonly redact: Redact;
  readonly signal: AbortSignal | null | undefined;
}

async function readJson(
  context: EndpointContext,
  { answer, own, redact, signal }: JsonAnswer,
): Promise<unknown> {
  const maxBytes = context.maxMessageBytes;
  const { bytes, cut } = await collectBody(answer.body, { maxBytes }).catch((error) => {
    if (signal?.aborted) throw signal.reason;
    throw error instanceof ConnectionError && error.code !== "UNREACHABLE" ? error : streamCut(error);
  });
  if (cut) {
    const error = tooLarge(maxBytes);
    context.ledger.cut(own, error);
    throw error;
  }
  const text = decodeText(bytes, answer.headers.get("content-type"));
  if (text === undefined) throw badResponse({ answer, why: "is in an unknown character set", redact });
  const body = parseJson(text);
  if (body === undefined) {
    const why = bytes.byteLength === 0 ? "is empty" : "is not valid JSON";
    throw badResponse({ answer, why, bytes, redact });
  }
  const message = answerTo(own.id, body);
  if (message === undefined) throw badResponse({ answer, why: "does not answer the request", bytes, redact });
  return message;
}

interface Refusal extends Pick<JsonAnswer, "answer" | "redact"> {
  readonly request: WireRequest;
  readonly own: OpenRequest | undefined;
}

/** What is left to the SDK goes back as a real `Response`: it runs authorization and era negotiation from it. */
async function refusal({ answer, request, own, redact }: Refusal): Promise<Response> {
  const { status } = answer;
  const { bytes } = await readRefusal(answer);
  if (status === 429 || status >= 500) throw statusError(answer, bytes, redact);
  if (status < 300) throw badResponse({ answer, why: "is no HTTP answer", redact });
  const inSession = request.headers["mcp-session-id"] !== undefined;
  if (status === 404 && inSession) throw sessionLost(status, "unsent");
  const modern = request.headers["mcp-method"] !== undefined;
  const gone = inSession && (status === 400 || status === 410);
  if (gone || (modern && status === 404)) {
    const error = asRpcError(parseJson(decodeText(bytes, answer.headers.get("content-type")) ?? ""));
    const about = error !== undefined && !(gone && SESSION_CODES.has(error.error.code)) ? error : undefined;
    if (about !== undefined && own !== undefined) {
      const json = async () => ({ ...about, id: own.id });
      const headers = new Headers({ "content-type": "application/json" });
      return lightResponse({ status: 200, statusText: "OK", headers }, request.url, { json });
    }
    if (gone) throw sessionLost(status, "unknown");
  }
  // The SDK keeps the body in its error, and some servers repeat in it what they were sent.
  return toResponse(answer, new TextEncoder().encode(redact(new TextDecoder().decode(bytes))));
}

/** A refusal counts even if its body breaks off. */
function readRefusal(answer: WireAnswer): Promise<{ bytes: Uint8Array }> {
  return collectBody(answer.body, REFUSAL_LIMITS).catch(() => ({ bytes: NOTHING }));
}
