/** What is unwise about an address that is otherwise fine. */
import type { ServerConfig } from "../config/server-config.js";

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/;
const SECRET = /token|secret|password|passwd|api[_-]?key|^key$|^auth/i;

export function addressWarnings(config: ServerConfig | { readonly url: string }): string[] {
  if (!("url" in config)) return [];
  const url = new URL(config.url);
  const warnings: string[] = [];
  if ((url.protocol === "http:" || url.protocol === "ws:") && !LOOPBACK.test(url.hostname)) {
    warnings.push(
      `is not encrypted: everybody on the way can read along; use ${url.protocol.replace(":", "s:")}//`,
    );
  }
  const named = [...url.searchParams.keys()].find((name) => SECRET.test(name));
  if (named !== undefined) {
    warnings.push(
      `holds a secret ("${named.slice(0, 40)}"), and addresses end up in logs; use "headers" instead`,
    );
  }
  return warnings;
}
