/** Sends requests to a model's endpoint, through the environment's proxy if there is one, and retries if it is busy. */
import { AuthError } from "../errors/auth-error.js";
import { ConnectionError } from "../errors/connection-error.js";
import { fromSystemError } from "../errors/from-system-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { systemFetch } from "../transports/create-transport.js";
import { parseRetryAfter } from "../transports/http/network/http-errors.js";
import { USER_AGENT } from "../transports/user-agent.js";
import { redactText } from "../util/redact-text.js";
import { sleep } from "../util/sleep.js";

export interface EndpointRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON; without it the request is a GET. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Models may take long to respond. */
const TIMEOUT_MS = 180_000;
const MAX_ATTEMPTS = 3;
const LONGEST_WAIT_MS = 20_000;
const BUSY: readonly number[] = [429, 500, 502, 503, 504, 529];

/** @throws AuthError if the key is rejected, ConnectionError for other failures, and the signal's reason after an abort */
export async function askEndpoint(request: EndpointRequest): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(request);
    const text = await readText(response, request);
    if (response.ok) return parse(text, request.url.host);
    if (attempt >= MAX_ATTEMPTS || !BUSY.includes(response.status)) {
      throw toError(response.status, text, request.url.host);
    }
    const askedMs = parseRetryAfter(response.headers.get("retry-after"));
    await sleep(Math.min(askedMs ?? 500 * 2 ** attempt, LONGEST_WAIT_MS), request.signal);
  }
}

async function send({ url, headers, body, signal }: EndpointRequest): Promise<Response> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await systemFetch(url, {
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      headers: {
        ...{ accept: "application/json", "content-type": "application/json", "user-agent": USER_AGENT },
        ...headers,
      },
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      // Never send the key to another URL.
      redirect: "error",
    });
  } catch (error) {
    throw toNetworkError(error, url.host, signal);
  }
}

async function readText(response: Response, { url, signal }: EndpointRequest): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw toNetworkError(error, url.host, signal);
  }
}

function parse(text: string, host: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ConnectionError({
      code: "BAD_RESPONSE",
      server: host,
      what: "The model's endpoint did not respond with JSON",
      next: "Check the URL of the model: most endpoints end in /v1",
    });
  }
}

function toNetworkError(error: unknown, host: string, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (ToolportError.isInstance(error)) return error;
  const isLate = error instanceof Error && error.name === "TimeoutError";
  return (
    fromSystemError(error, { server: host }) ??
    new ConnectionError({
      code: "UNREACHABLE",
      server: host,
      what: isLate
        ? `The model did not respond within ${TIMEOUT_MS / 1000} s`
        : "The model's endpoint could not be reached, or responded with a redirect",
      next: "Check the URL of the model and the network",
      cause: error,
    })
  );
}

function toError(status: number, text: string, host: string): ToolportError {
  const said = errorMessageOf(text);
  if (status === 401 || status === 403) {
    return new AuthError({
      code: status === 401 ? "AUTH_REQUIRED" : "FORBIDDEN",
      server: host,
      what: `The model's endpoint rejected the key (HTTP ${status})${said}`,
      next: "Set OPENAI_API_KEY or ANTHROPIC_API_KEY to a valid key for this endpoint",
      status,
    });
  }
  return new ConnectionError({
    code: "HTTP_STATUS",
    server: host,
    what: `The model's endpoint responded with HTTP ${status}${said}`,
    next: status === 404 ? "Check the URL and the name of the model" : "Try again, or use another model",
    status,
  });
}

/** OpenAI and Anthropic both send `{ error: { message } }`. */
function errorMessageOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string };
    const message = typeof error === "string" ? error : error?.message;
    return typeof message === "string" ? `: ${redactText(message).replace(/[.\s]+$/, "")}` : "";
  } catch {
    return "";
  }
}

/** Base URL and API key of a model. */
export interface Endpoint {
  readonly baseUrl: URL;
  readonly key: string | undefined;
  /** A URL below the base URL, with the query of the base URL. */
  at(path: string): URL;
}

export function createEndpoint(baseUrl: string | URL, key: string | undefined): Endpoint {
  const base = new URL(baseUrl);
  return {
    baseUrl: base,
    key,
    at(path) {
      const url = new URL(base);
      url.pathname = `${base.pathname.replace(/\/+$/, "")}/${path}`;
      return url;
    },
  };
}
