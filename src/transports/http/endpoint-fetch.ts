/** The fetch that the SDK's Streamable HTTP transport gets: ours on the MCP endpoint, guarded everywhere else. */
import { collectBody } from "./collect-body.js";
import { type EndpointContext, REFUSAL_LIMITS } from "./endpoint-context.js";
import { withUserHeaders } from "./endpoint-headers.js";
import { post } from "./endpoint-post.js";
import type { EndpointStreams } from "./endpoint-stream.js";
import type { WireRequest } from "./wire.js";
import { toHeaderRecord, toResponse } from "./wire-response.js";

/** Says which request a POST is. Taken off before anything is sent. */
export const REQUEST_KEY_HEADER = "x-toolport-request";

export function createEndpointFetch(
  context: EndpointContext,
  streams: EndpointStreams,
): typeof globalThis.fetch {
  return async (input, init) => {
    const url = input instanceof URL ? input : new URL(input instanceof Request ? input.url : input);
    const { [REQUEST_KEY_HEADER]: key, ...own } = toHeaderRecord(init?.headers);
    if (!isEndpoint(context.url, url, { key, own })) return context.guarded(input, init);
    const headers = await withUserHeaders(own, context.headers);
    const request: WireRequest = {
      url,
      method: init?.method ?? "GET",
      headers,
      // The SDK's transport sends text only.
      body: (init?.body ?? undefined) as string | undefined,
      signal: init?.signal,
    };
    const ownRequest = context.ledger.byKey(key);
    const send = (fields: Readonly<Record<string, string>>): Promise<Response> => {
      const sent = { ...request, headers: { ...headers, ...fields } };
      if (sent.method === "DELETE") return end(context, sent);
      return sent.method === "POST" ? post(context, sent, ownRequest) : streams.get(sent);
    };
    // A request with a token of its own has nobody to ask for another.
    if (ownRequest?.authorization !== undefined) return send({ authorization: ownRequest.authorization });
    const { authorization } = headers;
    return context.withAuthorization(
      { method: request.method, url, signal: init?.signal, authorization },
      send,
    );
  };
}

/** Ends a session. Whatever the server says to that, nothing follows from it. */
async function end(context: EndpointContext, request: WireRequest): Promise<Response> {
  const answer = await context.open(request);
  return toResponse(answer, (await collectBody(answer.body, REFUSAL_LIMITS)).bytes);
}

interface Marks {
  readonly key: string | undefined;
  readonly own: Readonly<Record<string, string>>;
}

/**
 * The endpoint, or where it redirected to within its origin (the SDK follows that): there the message's own marks tell
 * it from the OAuth documents that may live on the same origin.
 */
function isEndpoint(endpoint: URL, url: URL, { key, own }: Marks): boolean {
  if (!isWithinOrigin(endpoint, url)) return false;
  if (url.pathname === endpoint.pathname) return true;
  return (
    key !== undefined ||
    own["mcp-session-id"] !== undefined ||
    own.accept?.includes("text/event-stream") === true
  );
}

/** The same origin, or its https form with both on the default port. */
function isWithinOrigin(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const upgraded = from.protocol === "http:" && to.protocol === "https:";
  return upgraded && from.hostname === to.hostname && from.port === "" && to.port === "";
}
