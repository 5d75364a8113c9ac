/** As much of a `Response` as is looked at where the body is of no interest, without the cost of a real one. */
import type { AnswerHeaders, WireAnswer } from "./wire.js";

class LightResponse {
  readonly type = "basic";
  readonly redirected = false;

  constructor(
    readonly status: number,
    readonly statusText: string,
    readonly headers: AnswerHeaders,
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

/** The head of an answer. */
export function lightResponse(
  answer: Omit<WireAnswer, "body">,
  url: URL,
  body: ReadableStream<Uint8Array> | null = null,
): Response {
  const { status, statusText, headers } = answer;
  return new LightResponse(status, statusText, headers, url.href, body) as unknown as Response;
}
