/** Sends JSON-RPC messages by POST: requests, whose responses are passed on, and notifications. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";
import { parseJson } from "../../util/json.js";
import { findResponse } from "../json-rpc-message.js";
import type { EndpointRequest } from "./endpoint.js";
import type { EndpointContext } from "./endpoint-context.js";
import type { EndpointStreams } from "./endpoint-streams.js";
import { explainErrorResponse } from "./error-response.js";
import { ownAuthorization } from "./message-headers.js";
import { badResponse, type Redact, tooLarge } from "./network/http-errors.js";
import { collectBody, decodeText, discardBody, mediaType, readShortBody } from "./network/response-body.js";
import type { WireResponse } from "./network/wire-client.js";
import { type OpenRequest, streamCut } from "./open-requests.js";

/** Its response stream stays open as long as the connection. */
const LISTEN_METHOD = "subscriptions/listen";

/** Short requests on which the connection depends: they do not wait for a socket behind calls. */
const CONTROL_METHODS: ReadonlySet<string> = new Set(["initialize", "ping", "server/discover"]);

export interface RequestPost {
  readonly context: EndpointContext;
  readonly streams: EndpointStreams;
  readonly own: OpenRequest;
  readonly message: JSONRPCMessage & { readonly method: string };
}

/** Resolves when the response has been passed on, or its stream has started. */
export async function postRequest({ context, streams, own, message }: RequestPost): Promise<void> {
  const { endpoint, messageHeaders, redact } = context;
  const { exchange } = own;
  const given = own.options?.headers;
  let streaming = false;
  try {
    const request: EndpointRequest = {
      method: "POST",
      fields: messageHeaders.forMessage(message, given),
      body: JSON.stringify(message),
      exchange,
      background: message.method === LISTEN_METHOD || own.options?.background === true,
      authorization: ownAuthorization(given),
      resends: own.options?.resends,
      isControl: CONTROL_METHODS.has(message.method),
    };
    const response = await endpoint.send(request);
    const { status } = response;
    if (status < 200 || status >= 300)
      return context.onMessage(await explainErrorResponse(response, request, { own, redact }), own);
    if (message.method === "initialize")
      messageHeaders.sessionId = response.headers.get("mcp-session-id") || undefined;
    // The response arrives on the listening stream.
    if (status === 202) return discardBody(response);
    const type = status === 204 ? "" : mediaType(response.headers.get("content-type"));
    if (type === "text/event-stream") {
      streaming = true;
      return streams.read(own, response.body);
    }
    await (type === "application/json"
      ? readJson(context, { response, own })
      : unreadableResponse(response, redact));
  } finally {
    if (!streaming) {
      endpoint.release(exchange);
      context.requests.ended(own);
    }
  }
}

async function unreadableResponse(response: WireResponse, redact: Redact): Promise<never> {
  const bytes = await readShortBody(response);
  throw badResponse({ response, why: "is neither JSON nor an event stream", bytes, redact });
}

interface JsonResponse {
  readonly response: WireResponse;
  readonly own: OpenRequest;
}

/** Throws if the body is not a response to the request. */
async function readJson(context: EndpointContext, { response, own }: JsonResponse): Promise<void> {
  const { maxMessageBytes: maxBytes, redact } = context;
  const { bytes, cut } = await collectBody(response.body, { maxBytes }).catch((error: unknown) => {
    own.exchange.throwIfAborted();
    throw error instanceof ConnectionError && error.code !== "UNREACHABLE" ? error : streamCut(error);
  });
  if (cut) {
    const error = tooLarge(maxBytes);
    context.requests.cut(own, error);
    throw error;
  }
  const text = decodeText(bytes, response.headers.get("content-type"));
  const body = text === undefined ? undefined : parseJson(text);
  const found = body === undefined ? undefined : findResponse(own.id, body);
  if (found !== undefined) {
    for (const message of "jsonrpc" in found ? [found] : found) context.onMessage(message, own);
    return;
  }
  const why =
    text === undefined
      ? "is in an unknown character set"
      : bytes.byteLength === 0
        ? "is empty"
        : body === undefined
          ? "is not valid JSON"
          : "does not answer the request";
  throw badResponse({ response, why, bytes: text === undefined ? undefined : bytes, redact });
}

/** Sends a notification, or a response to a request of the server. Resolves when the server has accepted it. */
export async function postNotification(
  { endpoint, messageHeaders, redact }: EndpointContext,
  message: JSONRPCMessage,
  headers: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const exchange = endpoint.begin();
  try {
    const request: EndpointRequest = {
      method: "POST",
      fields: messageHeaders.forMessage(message, headers),
      body: JSON.stringify(message),
      exchange,
      authorization: ownAuthorization(headers),
      // Calls that hold all sockets may be waiting for this message.
      isControl: true,
    };
    const response = await endpoint.send(request);
    if (response.status < 200 || response.status >= 300)
      await explainErrorResponse(response, request, { redact });
    discardBody(response);
  } finally {
    endpoint.release(exchange);
  }
}
