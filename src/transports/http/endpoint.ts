/** The MCP endpoint of one connection: adds the user's headers and credentials, and follows redirects within the origin. */
import type { KnownSecrets } from "../../config/known-secrets.js";
import type { HeaderSource } from "../../config/server-config.js";
import { AuthError } from "../../errors/toolport-error.js";
import { SlotList, type Slotted } from "../../util/collections.js";
import { LightAbort } from "../../util/timers.js";
import type { Resends } from "../resends.js";
import type { AuthorizedSend } from "../server-transport.js";
import { withUserHeaders } from "./message-headers.js";
import { lightResponse, toResponse } from "./network/fetch-response.js";
import { MAX_REDIRECTS, redirectTarget } from "./network/redirect.js";
import { bufferedBody, readShortBody } from "./network/response-body.js";
import type { WireClient, WireResponse } from "./network/wire-client.js";

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
  readonly exchange: Exchange;
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
}

/** A response, with the headers that were sent and the URL that answered. */
export interface EndpointResponse extends WireResponse {
  readonly sent: Readonly<Record<string, string>>;
  readonly url: URL;
}

/** One exchange with the endpoint: a request, which redirects and new credentials may repeat, and its response. */
export class Exchange extends LightAbort implements Slotted {
  slot = -1;
  /** The server may have read the request. */
  isSent = false;
}

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #exchanges = new SlotList<Exchange>();
  #closed: { readonly reason: unknown } | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Starts an exchange. The caller has to `release()` it when it ends. */
  begin(): Exchange {
    const exchange = new Exchange();
    if (this.#closed === undefined) this.#exchanges.add(exchange);
    else exchange.abort(this.#closed.reason);
    return exchange;
  }

  release(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
  }

  /** Aborts all exchanges in progress, and those that begin later. */
  close(reason: unknown): void {
    this.#closed = { reason };
    const exchanges = this.#exchanges.toArray();
    this.#exchanges.clear();
    for (const exchange of exchanges) exchange.abort(reason);
  }

  /** Resolves with the status and headers; the body is not read yet. */
  async send(request: EndpointRequest): Promise<EndpointResponse> {
    const { headers: source } = this.#options;
    const { method, fields, exchange, authorization } = request;
    const given = typeof source === "function" ? await withUserHeaders(fields, source) : fields;
    const headers = authorization === undefined ? given : { ...given, authorization };
    // New credentials would not replace those that the caller has set.
    const authorize = authorization === undefined ? this.#options.authorize : undefined;
    let { url } = this.#options;
    for (let followed = 0; ; followed++) {
      exchange.throwIfAborted();
      const response =
        authorize === undefined
          ? await this.#open(url, request, headers)
          : await this.#openAuthorized(url, request, { headers, authorize });
      if (response.status < 300 || response.status >= 400 || followed === MAX_REDIRECTS) return response;
      const target = redirectTarget(response, url, method);
      if (target === undefined) return response;
      await readShortBody(response);
      url = target;
    }
  }

  async #open(
    url: URL,
    request: EndpointRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<EndpointResponse> {
    const { method, body, exchange, background, isControl, sendAfter } = request;
    this.#options.secrets.note(headers);
    exchange.isSent = false;
    const onSent = () => {
      exchange.isSent = true;
    };
    const sending = {
      url,
      method,
      headers,
      body,
      signal: exchange,
      onSent,
      background,
      isControl,
      sendAfter,
    };
    const { status, statusText, headers: answered, body: content } = await this.#options.open(sending);
    return { status, statusText, headers: answered, body: content, sent: headers, url };
  }

  async #openAuthorized(
    url: URL,
    request: EndpointRequest,
    { headers, authorize }: { headers: Readonly<Record<string, string>>; authorize: AuthorizedSend },
  ): Promise<EndpointResponse> {
    const { method, exchange } = request;
    let last: EndpointResponse | undefined;
    const authorization = headers["authorization"];
    const question = { method, url, signal: exchange, authorization };
    await authorize(question, async (fields) => {
      exchange.throwIfAborted();
      if (last !== undefined && !mayResend(last, request.resends)) throw credentialsRefused(last.status);
      last = await this.#open(url, request, { ...headers, ...fields });
      if (last.status !== 401 && last.status !== 403) return lightResponse(last, url);
      const bytes = await readShortBody(last);
      last = { ...last, body: bufferedBody(bytes) };
      return toResponse(last, bytes);
    });
    return last!;
  }
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
