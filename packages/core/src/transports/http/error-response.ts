/** Explains a response with a status other than 2xx: as a JSON-RPC error, or as an exception. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { parseJson } from "@toolport/base";
import {
  badResponse,
  decodeText,
  type Redact,
  readShortBody,
  redirectError,
  sessionLost,
  statusError,
} from "@toolport/http";
import { toResponse, type WireResponse } from "@toolport/http/wire-client";
import { asRpcError } from "../server-transport.js";
import type { EndpointRequest, EndpointResponse, OpenRequest } from "./endpoint.js";

/** JSON-RPC error codes that servers use for an unknown session, among other things. */
const SESSION_CODES: ReadonlySet<number> = new Set([-32_000, -32_001, -32_600]);

/**
 * Returns the JSON-RPC error in the body if it belongs to the request; otherwise throws.
 *
 * @param own the open request; undefined for notifications and for responses to the server
 */
export async function explainErrorResponse(
  response: EndpointResponse,
  request: EndpointRequest,
  { own, redact }: { own?: OpenRequest; redact: Redact },
): Promise<JSONRPCMessage> {
  const { status, statusText, sent, url } = response;
  const bytes = await readShortBody(response);
  request.exchange.throwIfAborted();
  if (status === 429 || status >= 500) throw statusError(response, bytes, redact);
  if (status < 300) throw badResponse({ response, why: "has an invalid HTTP status", redact });
  if (status < 400) throw redirectError(response, url, request.method);
  const inSession = sent["mcp-session-id"] !== undefined;
  if (inSession && status === 404) throw sessionLost(status);
  const gone = inSession && (status === 400 || status === 410);
  const error = asRpcError(parseJson(decodeText(bytes, response.headers.get("content-type")) ?? ""));
  if (own !== undefined && error !== undefined) {
    // Before 2026-07-28 servers reject unknown messages with errors of their own that name no request.
    const isOfRequest = own.modern && (status === 404 || (status === 400 && error.id === own.id));
    if (gone ? !SESSION_CODES.has(error.error.code) : isOfRequest)
      return { ...error, id: own.id } as JSONRPCMessage;
  }
  if (gone) throw sessionLost(status);
  if (status === 403) await throwIfScopeIsMissing(response, bytes);
  // Some servers echo the request in the body.
  throw new HttpErrorResponse({ status, statusText, text: redact(new TextDecoder().decode(bytes)) });
}

/** The required scope could not be obtained. The SDK's error names it. */
async function throwIfScopeIsMissing(response: WireResponse, bytes: Uint8Array): Promise<void> {
  if (!response.headers.has("www-authenticate")) return;
  const { extractWWWAuthenticateParams, InsufficientScopeError } = await import(
    "@modelcontextprotocol/client"
  );
  const { error, scope, ...more } = extractWWWAuthenticateParams(toResponse(response, bytes));
  if (error === "insufficient_scope") throw new InsufficientScopeError({ requiredScope: scope, ...more });
}

const BRANDS = Symbol.for("mcp.sdk.errorBrands");

/** Recognised as the SDK's `SdkHttpError` by its brand, without loading the SDK. */
export class HttpErrorResponse extends Error {
  override readonly name = "SdkHttpError";
  readonly code = "CLIENT_HTTP_NOT_IMPLEMENTED";

  /** @param data with the redacted body */
  constructor(
    readonly data: { readonly status: number; readonly statusText: string; readonly text: string },
  ) {
    super(`The server answered with HTTP ${data.status}`);
    Object.defineProperty(this, BRANDS, { value: new Set(["mcp.SdkError", "mcp.SdkHttpError"]) });
  }

  get status(): number {
    return this.data.status;
  }

  get statusText(): string {
    return this.data.statusText;
  }
}
