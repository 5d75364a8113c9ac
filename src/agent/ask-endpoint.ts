/** One request to a model's endpoint by `fetch`, through the environment's proxy if there is one; busy endpoints are asked again. */
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

/** Models think for a while. */
const TIMEOUT_MS = 180_000;
const MAX_ATTEMPTS = 3;
const LONGEST_WAIT_MS = 20_000;
const BUSY: readonly number[] = [429, 500, 502, 503, 504, 529];

/** @throws AuthError if the key is refused, ConnectionError for everything else, and the signal's reason */
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
      // A key must not follow to another address.
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
      what: "The model's endpoint did not answer with JSON",
      next: "Check the URL of the model: it ends in /v1 at most places",
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
        ? `The model did not answer within ${TIMEOUT_MS / 1000} s`
        : "The model's endpoint could not be reached, or answered with a redirect",
      next: "Check the URL of the model and the network",
      cause: error,
    })
  );
}

function toError(status: number, text: string, host: string): ToolportError {
  const said = complaintOf(text);
  if (status === 401 || status === 403) {
    return new AuthError({
      code: status === 401 ? "AUTH_REQUIRED" : "FORBIDDEN",
      server: host,
      what: `The model's endpoint refused the key (HTTP ${status})${said}`,
      next: "Set OPENAI_API_KEY or ANTHROPIC_API_KEY to a key that is good there",
      status,
    });
  }
  return new ConnectionError({
    code: "HTTP_STATUS",
    server: host,
    what: `The model's endpoint answered with HTTP ${status}${said}`,
    next: status === 404 ? "Check the URL and the name of the model" : "Try again, or with another model",
    status,
  });
}

/** `{ error: { message } }` at OpenAI and Anthropic alike. */
function complaintOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string };
    const message = typeof error === "string" ? error : error?.message;
    return typeof message === "string" ? `: ${redactText(message).replace(/[.\s]+$/, "")}` : "";
  } catch {
    return "";
  }
}
