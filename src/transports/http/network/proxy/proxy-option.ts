/** Whether a proxy can be needed at all, found out without loading anything. */
import type { ProxyOption } from "../../../../config/server-entry.js";
import { ConfigError } from "../../../../errors/config-error.js";

const VARIABLES = ["http_proxy", "https_proxy", "all_proxy"];

/** False where no variable names a proxy: then no code for proxies is loaded. */
export function mayNeedProxy(
  option: ProxyOption,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  if (option !== "env") return option !== false;
  return VARIABLES.some((name) => (env[name] || env[name.toUpperCase()]) !== undefined);
}

/** @throws ConfigError rather than going around a proxy that the user named */
export function rejectProxyAddress(proxy: ProxyOption | undefined): void {
  if (proxy === undefined || proxy === "env" || proxy === false) return;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "`proxy` names a proxy, but this runtime handles proxies itself",
    next: 'Set the proxy as the runtime expects it (for Bun and Deno: HTTPS_PROXY), and `proxy` to "env"',
  });
}
