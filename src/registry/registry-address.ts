/** Where the routes of a registry are. */
import { ConfigError } from "../errors/config-error.js";

export const OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io";

/** The stable revision of the API; `/v0` has the same routes. */
const API = "v0.1";

function problemOf(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return "is not an absolute URL";
  const { protocol, username, password, search, hash } = new URL(baseUrl);
  if (protocol !== "https:" && protocol !== "http:") return "must start with https:// or http://";
  if (username !== "" || password !== "") return 'must not hold a user name or password; use "headers"';
  return search !== "" || hash !== "" ? "must not have a query or a fragment" : undefined;
}

/** Makes the function that gives a route its URL; every part of a route is encoded. */
export function createAddress(
  baseUrl: string | URL,
): (route: readonly string[], query?: URLSearchParams) => URL {
  const text = String(baseUrl).trim();
  const problem = problemOf(text);
  if (problem !== undefined) {
    throw new ConfigError({ code: "INVALID_CONFIG", issues: [{ path: "baseUrl", message: problem }] });
  }
  const base = new URL(text);
  const path = base.pathname.replace(/\/+$/, "");
  const root = /\/v\d+(?:\.\d+)*$/.test(path) ? path : `${path}/${API}`;
  return (route, query) => {
    const url = new URL(base);
    url.pathname = `${root}/${route.map(encodeURIComponent).join("/")}`;
    url.search = query?.toString() ?? "";
    return url;
  };
}
