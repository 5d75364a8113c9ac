/** Which proxy leads to which target. Loaded when a proxy is set. */
import type { ProxyOption } from "../../../../config/server-entry.js";
import { createNoProxy, isLoopbackTarget } from "./no-proxy.js";
import { ProxyServer } from "./proxy-server.js";

/**
 * Finds the proxy of a target; undefined: none.
 *
 * @throws ConfigError if the target's proxy is not one that can be used
 */
export type ProxyRoutes = (url: URL) => ProxyServer | undefined;

type Environment = Readonly<Record<string, string | undefined>>;

/** An address of the user's own applies to every target. */
export function createProxyRoutes(option: ProxyOption, env: Environment = process.env): ProxyRoutes {
  if (option === false) return () => undefined;
  if (option === "env") return environmentRoutes(env);
  const proxy = new ProxyServer(option, "proxy");
  return () => proxy;
}

function environmentRoutes(env: Environment): ProxyRoutes {
  const isExcepted = createNoProxy(variable(env, "NO_PROXY")?.value ?? "");
  const known = new Map<string, ProxyServer>();
  const proxyOf = ({ name, value }: Variable): ProxyServer => {
    let proxy = known.get(name);
    if (proxy === undefined) {
      proxy = new ProxyServer(value, name);
      known.set(name, proxy);
    }
    return proxy;
  };
  return (url) => {
    const isSecure = url.protocol === "https:" || url.protocol === "wss:";
    const found = variable(env, isSecure ? "HTTPS_PROXY" : "HTTP_PROXY") ?? variable(env, "ALL_PROXY");
    if (found === undefined || found.value === "") return undefined;
    return isLoopbackTarget(url) || isExcepted(url) ? undefined : proxyOf(found);
  };
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** In lower case first, as in curl. An empty value means "none", and keeps the next variable from being asked. */
function variable(env: Environment, upper: string): Variable | undefined {
  const lower = upper.toLowerCase();
  if (env[lower] !== undefined) return { name: lower, value: env[lower].trim() };
  // In a CGI program the header field `Proxy` of any request sets this variable (httpoxy).
  if (upper === "HTTP_PROXY" && env["REQUEST_METHOD"] !== undefined) return undefined;
  return env[upper] === undefined ? undefined : { name: upper, value: env[upper].trim() };
}
