/** Converts the server options of an agent into a server entry. */

import type { ClientOptions } from "@modelcontextprotocol/client";
import type { HttpServerEntry } from "../../config/server-entry.js";
import { canParseUrl, hashText } from "../../util/text.js";

/** Headers in any form that `new Headers()` accepts. */
export type HeadersInput = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** How to connect to a server. */
export interface TransportOptions {
  /** Sent with every request. */
  headers?: HeadersInput;
  /**
   * `"streamable-http"`, the old `"sse"`, or `"auto"`: Streamable HTTP first, then SSE if the server does not support it.
   * @default "auto"
   */
  type?: "sse" | "streamable-http" | "auto";
}

/** Options of {@link McpClientManager.registerServer}. */
export interface ServerRegistration {
  /** The server's MCP endpoint. */
  url: string;
  /** A name to show. */
  name: string;
  /** The URL to which the browser returns after a login. Empty: this server needs no login. */
  callbackUrl: string;
  /** For the SDK's client. */
  clientOptions?: ClientOptions;
  transportOptions?: TransportOptions;
}

export function toServerEntry(registration: ServerRegistration): HttpServerEntry {
  const { url, callbackUrl, clientOptions, transportOptions = {} } = registration;
  const { type = "auto" } = transportOptions;
  const headers = Object.fromEntries(new Headers(transportOptions.headers));
  const mode = clientOptions?.versionNegotiation?.mode;
  // An own `Authorization` header replaces the login.
  const wantsLogin = callbackUrl !== "" && headers["authorization"] === undefined;
  return {
    url: normaliseUrl(url),
    transport: type,
    automaticSSEFallback: type === "auto",
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(wantsLogin && { oauth: { redirectUrl: callbackUrl } }),
    ...(mode !== undefined && { protocol: mode }),
    ...(clientOptions !== undefined && { clientOptions }),
  };
}

/** A fingerprint of a server's options. The callback URL is left out, because it depends on the request. */
export function printOf({ oauth: _, ...entry }: HttpServerEntry): string {
  return hashText(JSON.stringify(entry, (_key, value: unknown) => plain(value)));
}

/** Validators cannot be compared, so a new one counts as the same. */
function plain(value: unknown): unknown {
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return [Object.prototype, null].includes(Object.getPrototypeOf(value)) ? value : "[object]";
}

/** Normalises an address. */
export function normaliseUrl(text: string): string {
  if (!canParseUrl(text)) return text;
  const url = new URL(text);
  url.hash = "";
  return url.href;
}
