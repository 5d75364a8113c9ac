/** Reads the `proxy` option without loading the code for proxies. */
import { ConfigError } from "@toolport/base";

/**
 * The proxy for a server: `"env"` uses the environment variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, a
 * URL (`http://user:password@host:port` or `https://…`) names a proxy, `false` connects directly.
 */
export type ProxyOption = "env" | (string & {}) | false;

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
