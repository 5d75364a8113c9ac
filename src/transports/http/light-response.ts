/** As much of a `Response` as the SDK's transports use, without the cost of a real one. */
import type { AnswerHeaders, WireAnswer } from "./wire.js";

export interface LightBody {
  readonly json?: () => Promise<unknown>;
  readonly stream?: () => ReadableStream<Uint8Array>;
}

class LightResponse {
  readonly ok = true;
  readonly type = "basic";
  readonly redirected = false;
  readonly #body: LightBody;
  #stream: ReadableStream<Uint8Array> | undefined;

  constructor(
    readonly status: number,
    readonly statusText: string,
    readonly headers: AnswerHeaders,
    readonly url: string,
    body: LightBody,
  ) {
    this.#body = body;
  }

  get body(): ReadableStream<Uint8Array> | null {
    this.#stream ??= this.#body.stream?.();
    return this.#stream ?? null;
  }

  async json(): Promise<unknown> {
    return this.#body.json?.();
  }

  /** Asked for only where the body is of no interest. */
  async text(): Promise<string> {
    return "";
  }
}

/** A successful answer for the SDK. */
export function lightResponse(answer: Omit<WireAnswer, "body">, url: URL, body: LightBody = {}): Response {
  const { status, statusText, headers } = answer;
  return new LightResponse(status, statusText, headers, url.href, body) as unknown as Response;
}

/** Tells the SDK that there is no event stream to be had here; it takes that quietly. */
export function noStream(): Response {
  return new Response(null, { status: 405, statusText: "Method Not Allowed" });
}
