/** `fetch` through the proxies of the environment. */
import { createHttpClient } from "../node-client.js";
import { createProxyRoutes } from "./proxy-routes.js";

/** The runtime's own `fetch` for targets without a proxy. Redirects of others are not followed. */
export const fetchByProxy: typeof globalThis.fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : String(input));
  if (createProxyRoutes("env")(url) === undefined) return globalThis.fetch(input, init);
  // Keeps no socket after the answer, so there is nothing to close.
  return createHttpClient({ keepAliveMs: 0 }).fetch(input, init);
};
