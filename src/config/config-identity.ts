/** A key that is the same for all configurations of one server, without secrets. */
import { hashText } from "../util/text.js";
import type { ServerConfig } from "./server-config.js";

/** Arguments and queries may contain keys, so only their hash is used. */
const fingerprint = (parts: unknown): string => hashText(JSON.stringify(parts));

/** The address without the transport. */
export function identifyUrl(text: string): string {
  const url = new URL(text);
  const address = `${url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin}${url.pathname}`;
  return url.search === "" ? address : `${address}?${fingerprint(url.search)}`;
}

/**
 * A stable key of the server that a configuration describes: the same for the same program and arguments, address or image,
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
      // A function does not show what it connects to, so only the name remains.
      return `custom:${config.name}`;
  }
}
