/** The connect pages of a gateway, with a real issuer for its users and a real upstream server that needs a login. */
import { createToolport, memoryStore, type Store, type Toolport } from "toolport";
import type { GatewayUserOptions } from "../src/auth/auth-options.js";
import { createAuthenticator } from "../src/auth/authenticator.js";
import { type Connect, createConnect, createUpstreamLogins } from "../src/auth/connect.js";
import { loadGatewayKeys } from "../src/replicas/gateway-key.js";
import { createSeal } from "../src/replicas/seal.js";
import { usersOf } from "../src/users.js";

export interface ConnectBenchOptions {
  /** The MCP endpoint of the gateway. */
  readonly url: string;
  /** The upstream server. */
  readonly upstream: string;
  readonly users: GatewayUserOptions;
  /** @default a new store in memory */
  readonly store?: Store;
  readonly now?: () => number;
}

export interface ConnectBench extends AsyncDisposable {
  readonly toolport: Toolport;
  readonly store: Store;
  readonly connect: Connect;
  readonly warnings: string[];
}

export async function startConnectBench(options: ConnectBenchOptions): Promise<ConnectBench> {
  const { url, upstream, users, store = memoryStore(), now } = options;
  const callbackUrl = `${new URL(url).origin}/connect/callback`;
  const toolport = createToolport({ mcpServers: { vault: { url: upstream } }, store, callbackUrl });
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const authenticator = createAuthenticator({ url, ...users }, { warn, now });
  const ports = usersOf(toolport);
  const seal = createSeal(await loadGatewayKeys(store));
  const logins = createUpstreamLogins((principal) => ports.use(principal, "needed"));
  const connect = createConnect({ authenticator, seal, store, logins, callbackUrl, warn, now });
  return {
    toolport,
    store,
    connect,
    warnings,
    async [Symbol.asyncDispose]() {
      authenticator.close();
      await toolport.close();
    },
  };
}

/** A browser at the connect pages: keeps cookies as a browser keeps `__Host-` cookies. */
export class PageBrowser {
  readonly cookies = new Map<string, string>();
  readonly #connect: Connect;

  constructor(connect: Connect) {
    this.#connect = connect;
  }

  async open(url: string | URL, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#connect.handle(
      new Request(url, { method, headers: { cookie, ...headers } }),
    );
    if (response === undefined) throw new Error(`No connect page: ${url}`);
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(/; ?/);
      const [name = "", value = ""] = pair.split("=");
      const isHostCookie = ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"].every((each) =>
        attributes.includes(each),
      );
      if (
        !name.startsWith("__Host-") ||
        !isHostCookie ||
        attributes.some((each) => each.startsWith("Domain"))
      )
        throw new Error(`A browser refuses this cookie: ${line}`);
      if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** Opens a page that redirects, and returns the address. */
  async follow(url: string | URL): Promise<string> {
    const response = await this.open(url);
    const location = response.headers.get("location");
    if (response.status !== 302 || location === null)
      throw new Error(`No redirect: ${response.status} ${await response.text()}`);
    return location;
  }
}
