/** Header fields that the user configured, for whichever transport sends them. */
import type { HeaderSource } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";
import { ToolportError } from "../errors/toolport-error.js";

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The fields as they are now: a function is asked each time. They are not checked yet. */
export async function revealHeaders(source: HeaderSource): Promise<Readonly<Record<string, string>>> {
  if (typeof source !== "function") return source.reveal();
  try {
    return (await source()) ?? {};
  } catch (cause) {
    if (ToolportError.isInstance(cause)) throw cause;
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The `headers` function of the server failed",
      retryable: true,
      cause,
    });
  }
}

/** Throws, without showing the value, where a field cannot be sent: one with a line break would become two. */
export function checkHeader(name: string, value: unknown): asserts value is string {
  const isName = NAME.test(name);
  if (isName && typeof value === "string" && VALUE.test(value)) return;
  const path = `headers.${isName ? name : "?"}`;
  const message = "not a valid HTTP header name and value (no line breaks)";
  throw new ConfigError({ code: "INVALID_CONFIG", issues: [{ path, message }] });
}
