/** Converts between the fetch API and the wire types. */
import type { ResponseBody, ResponseHeaders, WireRequest, WireResponse } from "./wire-client.js";

const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

type FetchArguments = Parameters<typeof globalThis.fetch>;

/** Headers in any form that `fetch` accepts, with lower-case names. */
export function toHeaderRecord(headers: RequestInit["headers"] | undefined): Record<string, string> {
  const record: Record<string, string> = {};
  if (headers === undefined || headers === null) return record;
  if (headers instanceof Headers) for (const [name, value] of headers) record[name] = value;
  else for (const [name, value] of new Headers(headers)) record[name] = value;
  return record;
}

/** The arguments of a `fetch` call as a wire request. */
export async function toWireRequest(
  input: FetchArguments[0],
  init?: FetchArguments[1],
): Promise<WireRequest> {
  const request = input instanceof Request ? input : undefined;
  const url = new URL(request === undefined ? String(input) : request.url);
  const headers = toHeaderRecord(init?.headers ?? request?.headers);
  const raw = init?.body ?? request?.body ?? undefined;
  let body: string | Uint8Array | undefined;
  if (typeof raw === "string" || raw instanceof Uint8Array) body = raw;
  else if (raw !== undefined) {
    // Response converts every other kind of body to bytes and knows its content type.
    const carrier = new Response(raw as RequestInit["body"] & {});
    const type = carrier.headers.get("content-type");
    if (type !== null && headers["content-type"] === undefined) headers["content-type"] = type;
    body = new Uint8Array(await carrier.arrayBuffer());
  }
  return {
    url,
    method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
    headers,
    body,
    signal: init?.signal ?? request?.signal,
  };
}

/** Response headers as `Headers`, without fields that the fetch standard forbids. */
function toHeaders(fields: ResponseHeaders): Headers {
  if (fields instanceof Headers) return fields;
  const headers = new Headers();
  for (const [name, value] of fields) {
    try {
      headers.append(name, value);
    } catch {
      // Skip names and values that the standard forbids.
    }
  }
  return headers;
}

/** A body as a web stream. */
function toWebStream(body: ResponseBody): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      body.pipe({
        chunk(bytes) {
          controller.enqueue(bytes);
          return (controller.desiredSize ?? 0) > 0;
        },
        end: () => controller.close(),
        fail: (error) => controller.error(error),
      });
    },
    pull: () => body.resume(),
    cancel: () => body.cancel(),
  });
}

/** A real `Response`, for code that tests `instanceof Response`. */
export function toResponse(response: WireResponse, bytes?: Uint8Array): Response {
  const init = {
    status: response.status,
    statusText: response.statusText,
    headers: toHeaders(response.headers),
  };
  if (WITHOUT_BODY.has(response.status)) {
    response.body.cancel();
    return new Response(null, init);
  }
  return new Response(
    (bytes ?? toWebStream(response.body)) as ConstructorParameters<typeof Response>[0],
    init,
  );
}

/** The part of `Response` that is used if the body does not matter. */
class LightResponse {
  readonly type = "basic";
  readonly redirected = false;

  constructor(
    readonly status: number,
    readonly statusText: string,
    readonly headers: ResponseHeaders,
    readonly url: string,
    readonly body: ReadableStream<Uint8Array> | null,
  ) {}

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  async text(): Promise<string> {
    return "";
  }
}

/** Status and headers as a `Response`, without the cost of a real one. */
export function lightResponse(
  response: Omit<WireResponse, "body">,
  url: URL,
  body: ReadableStream<Uint8Array> | null = null,
): Response {
  const { status, statusText, headers } = response;
  return new LightResponse(status, statusText, headers, url.href, body) as unknown as Response;
}
