/** A request of JSON-RPC by POST: its answer is handed on, or the error says why there is none. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";
import { parseJson } from "../../util/parse-json.js";
import { answerTo } from "../json-rpc-message.js";
import type { EndpointRequest } from "./endpoint.js";
import type { EndpointContext } from "./endpoint-context.js";
import type { EndpointStreams } from "./endpoint-streams.js";
import { explainRefusal } from "./error-response.js";
import { ownAuthorization } from "./message-headers.js";
import { badResponse, type Redact, tooLarge } from "./network/http-errors.js";
import { collectBody, decodeText, discardBody, mediaType, readRefusal } from "./network/response-body.js";
import type { WireAnswer } from "./network/wire-client.js";
import { type OpenRequest, streamCut } from "./open-requests.js";

/** The request that is answered for as long as the connection lasts. */
const LISTEN_METHOD = "subscriptions/listen";

/** Short requests that decide about the connection: they do not wait behind calls for a socket. */
const CONTROL_METHODS: ReadonlySet<string> = new Set(["initialize", "ping", "server/discover"]);

export interface RequestPost {
  readonly context: EndpointContext;
  readonly streams: EndpointStreams;
  readonly own: OpenRequest;
  readonly message: JSONRPCMessage & { readonly method: string };
}

/** Resolves when the answer has been handed on, or comes by a stream. */
export async function postRequest({ context, streams, own, message }: RequestPost): Promise<void> {
  const { endpoint, fields, redact } = context;
  const { line } = own;
  const given = own.options?.headers;
  let streaming = false;
  try {
    const request: EndpointRequest = {
      method: "POST",
      fields: fields.forMessage(message, given),
      body: JSON.stringify(message),
      line,
      standing: message.method === LISTEN_METHOD || own.options?.background === true,
      authorization: ownAuthorization(given),
      resends: own.options?.resends,
      isControl: CONTROL_METHODS.has(message.method),
    };
    const answer = await endpoint.send(request);
    const { status } = answer;
    if (status < 200 || status >= 300)
      return context.onMessage(await explainRefusal(answer, request, { own, redact }), own);
    if (message.method === "initialize") fields.sessionId = answer.headers.get("mcp-session-id") || undefined;
    // The answer comes by another stream.
    if (status === 202) return discardBody(answer);
    const type = status === 204 ? "" : mediaType(answer.headers.get("content-type"));
    if (type === "text/event-stream") {
      streaming = true;
      return streams.read(own, answer.body);
    }
    await (type === "application/json"
      ? readJson(context, { answer, own, request })
      : noAnswer(answer, redact));
  } finally {
    if (!streaming) {
      endpoint.over(line);
      context.ledger.ended(own);
    }
  }
}

async function noAnswer(answer: WireAnswer, redact: Redact): Promise<never> {
  const bytes = await readRefusal(answer);
  throw badResponse({ answer, why: "is neither JSON nor an event stream", bytes, redact });
}

interface JsonAnswer {
  readonly answer: WireAnswer;
  readonly own: OpenRequest;
  readonly request: EndpointRequest;
}

async function readJson(context: EndpointContext, { answer, own, request }: JsonAnswer): Promise<void> {
  const maxBytes = context.maxMessageBytes;
  const { bytes, cut } = await collectBody(answer.body, { maxBytes }).catch((error: unknown) => {
    request.line.throwIfAborted();
    throw error instanceof ConnectionError && error.code !== "UNREACHABLE" ? error : streamCut(error);
  });
  if (cut) {
    const error = tooLarge(maxBytes);
    context.ledger.cut(own, error);
    throw error;
  }
  const text = decodeText(bytes, answer.headers.get("content-type"));
  const body = text === undefined ? undefined : parseJson(text);
  const message = body === undefined ? undefined : answerTo(own.id, body);
  if (message === undefined) {
    const why =
      text === undefined
        ? "is in an unknown character set"
        : bytes.byteLength === 0
          ? "is empty"
          : body === undefined
            ? "is not valid JSON"
            : "does not answer the request";
    const { redact } = context;
    throw badResponse({ answer, why, bytes: text === undefined ? undefined : bytes, redact });
  }
  if ("jsonrpc" in message) context.onMessage(message, own);
  else for (const one of message) context.onMessage(one, own);
}

/** Resolves when the server has taken it. */
export async function postNotice(
  { endpoint, fields, redact }: EndpointContext,
  message: JSONRPCMessage,
  headers: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const line = endpoint.begin();
  try {
    const request: EndpointRequest = {
      method: "POST",
      fields: fields.forMessage(message, headers),
      body: JSON.stringify(message),
      line,
      authorization: ownAuthorization(headers),
      // Calls that hold all sockets may wait for exactly this answer of ours.
      isControl: true,
    };
    const answer = await endpoint.send(request);
    if (answer.status < 200 || answer.status >= 300) await explainRefusal(answer, request, { redact });
    discardBody(answer);
  } finally {
    endpoint.over(line);
  }
}
