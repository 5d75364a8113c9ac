/** Whether a proxy can be needed at all, found out without loading anything. */
import type { ProxyOption } from "../../../../config/server-entry.js";

const VARIABLES = ["http_proxy", "https_proxy", "all_proxy"];

/** False where no variable names a proxy: then no code for proxies is loaded. */
export function mayNeedProxy(
  option: ProxyOption,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  if (option !== "env") return option !== false;
  return VARIABLES.some((name) => (env[name] || env[name.toUpperCase()]) !== undefined);
}
