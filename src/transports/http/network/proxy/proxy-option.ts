/** Reads the `proxy` option without loading the code for proxies. */
import type { ProxyOption } from "../../../../config/server-entry.js";
import { ConfigError } from "../../../../errors/toolport-error.js";

const VARIABLES = ["http_proxy", "https_proxy", "all_proxy"];

/** False if the option and the environment name no proxy. */
export function mayNeedProxy(
  option: ProxyOption,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  if (option !== "env") return option !== false;
  return VARIABLES.some((name) => (env[name] || env[name.toUpperCase()]) !== undefined);
}

/** @throws ConfigError if an address is given: this runtime would bypass that proxy */
export function rejectProxyAddress(proxy: ProxyOption | undefined): void {
  if (proxy === undefined || proxy === "env" || proxy === false) return;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "`proxy` names a proxy, but this runtime handles proxies itself",
    next: 'Set the proxy as the runtime expects it (for Bun and Deno: HTTPS_PROXY), and `proxy` to "env"',
  });
}
