/** Runtimes that handle proxies themselves cannot be given the address of one. */
import type { ProxyOption } from "../../../../config/server-entry.js";
import { ConfigError } from "../../../../errors/config-error.js";

/** @throws ConfigError rather than going around a proxy that the user named */
export function rejectOwnProxy(proxy: ProxyOption | undefined): void {
  if (proxy === undefined || proxy === "env" || proxy === false) return;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "`proxy` names a proxy, but this runtime handles proxies itself",
    next: 'Set the proxy as the runtime expects it (for Bun and Deno: HTTPS_PROXY), and `proxy` to "env"',
  });
}
