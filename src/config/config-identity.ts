/** What makes two configurations the same server, as a short text without secrets. */
import { hashText } from "../util/hash-text.js";
import type { ServerConfig } from "./server-config.js";

/** Arguments and queries may hold keys, so they only count by their fingerprint. */
const fingerprint = (parts: unknown): string => hashText(JSON.stringify(parts));

/** The address alone, whichever transport leads there. */
export function identifyUrl(text: string): string {
  const url = new URL(text);
  const address = `${url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin}${url.pathname}`;
  return url.search === "" ? address : `${address}?${fingerprint(url.search)}`;
}

/**
 * A stable key of the server a configuration leads to: the same for the same program and arguments, address or image,
 * whatever its name, headers, variables and limits are. Fit for a store and a log.
 *
 * @example
 * ```ts
 * configIdentity(config); // "http:https://example.com/mcp"
 * ```
 */
export function configIdentity(config: ServerConfig): string {
  switch (config.kind) {
    case "stdio":
      return `stdio:${config.command}#${fingerprint([config.command, config.args, config.cwd ?? ""])}`;
    case "docker":
      return `docker:${config.image}#${fingerprint([config.image, config.args, config.dockerHost ?? ""])}`;
    case "http":
    case "sse":
    case "websocket":
      return `${config.kind}:${identifyUrl(config.url)}`;
    case "custom":
      // A function has no text that would say what it connects to; its name is all there is.
      return `custom:${config.name}`;
  }
}
