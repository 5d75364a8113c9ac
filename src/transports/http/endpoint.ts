/** The MCP endpoint of one connection: requests go out with the user's fields and with credentials, within its origin. */
import type { KnownSecrets } from "../../config/known-secrets.js";
import type { HeaderSource } from "../../config/server-config.js";
import { AuthError } from "../../errors/auth-error.js";
import { SlotList } from "../../util/slot-list.js";
import type { Resends } from "../resends.js";
import { withUserHeaders } from "../user-headers.js";
import type { AuthorizedSend } from "./credentials/authorized-send.js";
import { lightResponse, toResponse } from "./network/fetch-response.js";
import { sessionLost } from "./network/http-errors.js";
import { MAX_REDIRECTS, redirectTarget } from "./network/redirect.js";
import { bufferedBody, readShortBody } from "./network/response-body.js";
import { AbortHandle, type WireClient, type WireResponse } from "./network/wire-client.js";

export interface EndpointOptions {
  readonly url: URL;
  /** Fields that are asked for anew with every request; others are in the request already. */
  readonly headers: HeaderSource;
  readonly open: WireClient["open"];
  /** Is told every field that goes out. */
  readonly secrets: Pick<KnownSecrets, "note">;
  /** Without: nobody has credentials, or they stand in the headers. */
  readonly authorize: AuthorizedSend | undefined;
}

export interface EndpointRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly handle: AbortHandle;
  /** A stream for whatever the server may have to say. */
  readonly background?: boolean | undefined;
  /** Does not wait for a free socket. @default false */
  readonly isControl?: boolean | undefined;
  /** How often it may be sent again. @default no limit */
  readonly resends?: Resends | undefined;
  /** Credentials of this request's own: there is nobody to ask for others. */
  readonly authorization?: string | undefined;
  /** What went out in the end. */
  sent?: Readonly<Record<string, string>>;
  /** Where it went in the end. */
  sentTo?: URL;
}

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #handles = new SlotList<AbortHandle>();
  #closed: { readonly reason: unknown } | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** An exchange begins; whoever begins it says when it is over. */
  begin(): AbortHandle {
    const handle = new AbortHandle();
    if (this.#closed === undefined) this.#handles.add(handle);
    else handle.abort(this.#closed.reason);
    return handle;
  }

  release(handle: AbortHandle): void {
    this.#handles.delete(handle);
  }

  /** Ends everything that is under way, and everything that begins later. */
  close(reason: unknown): void {
    this.#closed = { reason };
    const handles = this.#handles.toArray();
    this.#handles.clear();
    for (const handle of handles) handle.abort(reason);
  }

  /** Resolves with the response's head; its body waits to be read. */
  async send(request: EndpointRequest): Promise<WireResponse> {
    const { headers: source } = this.#options;
    const { method, fields, handle } = request;
    const headers = typeof source === "function" ? await withUserHeaders(fields, source) : fields;
    let { url } = this.#options;
    for (let followed = 0; ; followed++) {
      handle.throwIfAborted();
      const response = await this.#sendOnce(url, request, headers);
      if (response.status < 300 || response.status >= 400 || followed === MAX_REDIRECTS) return response;
      const target = redirectTarget(response, url, method);
      if (target === undefined) return response;
      await readShortBody(response);
      url = target;
    }
  }

  #sendOnce(
    url: URL,
    request: EndpointRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<WireResponse> {
    const { authorization } = request;
    if (authorization !== undefined) return this.#open(url, request, { ...headers, authorization });
    const { authorize } = this.#options;
    return authorize === undefined
      ? this.#open(url, request, headers)
      : this.#authorized(url, request, { headers, authorize });
  }

  #open(
    url: URL,
    request: EndpointRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<WireResponse> {
    const { method, body, handle, background, isControl } = request;
    request.sent = headers;
    request.sentTo = url;
    this.#options.secrets.note(headers);
    return this.#options.open({ url, method, headers, body, handle, background, isControl });
  }

  async #authorized(
    url: URL,
    request: EndpointRequest,
    { headers, authorize }: { headers: Readonly<Record<string, string>>; authorize: AuthorizedSend },
  ): Promise<WireResponse> {
    const { method, handle } = request;
    let last: WireResponse | undefined;
    const question = { method, url, signal: handle.signal, authorization: headers["authorization"] };
    await authorize(question, async (fields) => {
      handle.throwIfAborted();
      if (last !== undefined && !mayResend(last, request.resends)) throw credentialsRefused(last.status);
      last = await this.#open(url, request, { ...headers, ...fields });
      if (last.status !== 401 && last.status !== 403) return lightResponse(last, url);
      if (method === "POST" && is401WithoutChallenge(last, headers)) throw sessionLost(last.status);
      const bytes = await readShortBody(last);
      last = { ...last, body: bufferedBody(bytes) };
      return toResponse(last, bytes);
    });
    return last!;
  }
}

/** A resend with new credentials, or with the nonce that the server wants in a proof (RFC 9449, which is no healing). */
function mayResend({ headers }: WireResponse, resends: Resends | undefined): boolean {
  if (resends === undefined) return true;
  const wantsNonce = headers.get("www-authenticate")?.includes("use_dpop_nonce") === true;
  return wantsNonce ? resends.take() : resends.takeHealing();
}

/** New credentials are there, but this call was sent too often already. */
export function credentialsRefused(status: number): AuthError {
  return new AuthError({
    code: status === 403 ? "INSUFFICIENT_SCOPE" : "AUTH_REQUIRED",
    what: `The server refused the call again (HTTP ${status})`,
    next: "Call again: the next call uses the new credentials",
    status,
    outcome: "unsent",
  });
}

/**
 * A demand for authorization names a challenge; without one it is how some servers say that they forgot the session. If
 * a token was meant after all, the new handshake is refused too, and then there is no session to blame.
 */
export function is401WithoutChallenge(
  response: WireResponse,
  sent: Readonly<Record<string, string>>,
): boolean {
  return (
    response.status === 401 &&
    sent["mcp-session-id"] !== undefined &&
    !response.headers.has("www-authenticate")
  );
}
