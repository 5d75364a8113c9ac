/** The MCP endpoint of one connection: adds the user's headers and credentials, and follows redirects within the origin. */
import type { KnownSecrets } from "../../config/known-secrets.js";
import type { HeaderSource } from "../../config/server-config.js";
import { AuthError } from "../../errors/auth-error.js";
import { SlotList } from "../../util/slot-list.js";
import type { Resends } from "../resends.js";
import { withUserHeaders } from "../user-headers.js";
import type { AuthorizedSend, RequestToAuthorize } from "./credentials/authorized-send.js";
import { lightResponse, toResponse } from "./network/fetch-response.js";
import { MAX_REDIRECTS, redirectTarget } from "./network/redirect.js";
import { bufferedBody, readShortBody } from "./network/response-body.js";
import { AbortHandle, type WireClient, type WireResponse } from "./network/wire-client.js";

export interface EndpointOptions {
  readonly url: URL;
  /** Only a function is called here, for every request; static headers are already in the request. */
  readonly headers: HeaderSource;
  readonly open: WireClient["open"];
  /** Records every header that is sent, so that it can be redacted. */
  readonly secrets: Pick<KnownSecrets, "note">;
  /** Undefined: no credentials, or they are in the headers. */
  readonly authorize: AuthorizedSend | undefined;
}

export interface EndpointRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly handle: AbortHandle;
  /** Does not keep the host process alive. @default false */
  readonly background?: boolean | undefined;
  /** Does not wait for a free socket. @default false */
  readonly isControl?: boolean | undefined;
  /** The request is sent when this promise resolves. Must not reject. @default at once */
  readonly sendAfter?: Promise<void> | undefined;
  /** How often the request may be sent again. @default no limit */
  readonly resends?: Resends | undefined;
  /** Credentials that the caller set for this request; they are not renewed. */
  readonly authorization?: string | undefined;
  /** The headers that were sent. Set by `send()`. */
  sent?: Readonly<Record<string, string>>;
  /** The URL after redirects. Set by `send()`. */
  sentTo?: URL;
}

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #handles = new SlotList<AbortHandle>();
  #closed: { readonly reason: unknown } | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Starts an exchange. The caller has to `release()` the handle when it ends. */
  begin(): AbortHandle {
    const handle = new AbortHandle();
    if (this.#closed === undefined) this.#handles.add(handle);
    else handle.abort(this.#closed.reason);
    return handle;
  }

  release(handle: AbortHandle): void {
    this.#handles.delete(handle);
  }

  /** Aborts all exchanges in progress, and those that begin later. */
  close(reason: unknown): void {
    this.#closed = { reason };
    const handles = this.#handles.toArray();
    this.#handles.clear();
    for (const handle of handles) handle.abort(reason);
  }

  /** Resolves with the status and headers; the body is not read yet. */
  async send(request: EndpointRequest): Promise<WireResponse> {
    const { headers: source } = this.#options;
    const { method, fields, handle } = request;
    const given = typeof source === "function" ? withUserHeaders(fields, source) : fields;
    const headers = given instanceof Promise ? await given : given;
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
    const { method, body, handle, background, isControl, sendAfter } = request;
    request.sent = headers;
    request.sentTo = url;
    this.#options.secrets.note(headers);
    return this.#options.open({ url, method, headers, body, handle, background, isControl, sendAfter });
  }

  async #authorized(
    url: URL,
    request: EndpointRequest,
    { headers, authorize }: { headers: Readonly<Record<string, string>>; authorize: AuthorizedSend },
  ): Promise<WireResponse> {
    const { handle } = request;
    let last: WireResponse | undefined;
    await authorize(new RequestInQuestion(url, request, headers["authorization"]), async (fields) => {
      handle.throwIfAborted();
      if (last !== undefined && !mayResend(last, request.resends)) throw credentialsRefused(last.status);
      last = await this.#open(url, request, isEmpty(fields) ? headers : { ...headers, ...fields });
      if (last.status !== 401 && last.status !== 403) return lightResponse(last, url);
      const bytes = await readShortBody(last);
      last = { ...last, body: bufferedBody(bytes) };
      return toResponse(last, bytes);
    });
    return last!;
  }
}

/** A class: an object literal with a getter takes as long as the rest of its request. */
class RequestInQuestion implements RequestToAuthorize {
  readonly method: string;
  readonly url: URL;
  readonly authorization: string | undefined;
  readonly #handle: AbortHandle;

  constructor(url: URL, { method, handle }: EndpointRequest, authorization: string | undefined) {
    this.method = method;
    this.url = url;
    this.authorization = authorization;
    this.#handle = handle;
  }

  /** Most requests need no signal, which is expensive. */
  get signal(): AbortSignal {
    return this.#handle.signal;
  }
}

function isEmpty(fields: object): boolean {
  for (const _ in fields) return false;
  return true;
}

/** A resend with new credentials counts as recovery; one with the nonce for a proof (RFC 9449) does not. */
function mayResend({ headers }: WireResponse, resends: Resends | undefined): boolean {
  if (resends === undefined) return true;
  const wantsNonce = headers.get("www-authenticate")?.includes("use_dpop_nonce") === true;
  return wantsNonce ? resends.take() : resends.takeHealing();
}

/** There are new credentials, but this call must not be sent again. */
export function credentialsRefused(status: number): AuthError {
  return new AuthError({
    code: status === 403 ? "INSUFFICIENT_SCOPE" : "AUTH_REQUIRED",
    what: `The server rejected the call again (HTTP ${status})`,
    next: "Call again: the next call uses the new credentials",
    status,
    outcome: "unsent",
  });
}
