/** A message that was turned away by a status, in the words of the SDK: its client and our converter know it by brand. */

const BRANDS = Symbol.for("mcp.sdk.errorBrands");

export interface RefusedMessageData {
  readonly status: number;
  readonly statusText: string;
  /** The body, without what must not be shown. */
  readonly text: string;
}

/** An `SdkHttpError` for all who ask, made without loading the SDK. */
export class RefusedMessage extends Error {
  override readonly name = "SdkHttpError";
  readonly code = "CLIENT_HTTP_NOT_IMPLEMENTED";

  constructor(readonly data: RefusedMessageData) {
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
