/** The ports of callers with their own headers or credentials: one each, for the lifetime of the client. */
import type { PrincipalOptions } from "../../port/principal.js";
import type { Toolport } from "../../toolport.js";
import type { CustomHTTPTransportOptions } from "./client-config.js";

export class CallerPorts {
  readonly #toolport: Toolport;
  readonly #ports = new Map<string, Toolport>();
  readonly #providers = new WeakMap<object, number>();
  #lastProvider = 0;

  constructor(toolport: Toolport) {
    this.#toolport = toolport;
  }

  /** All ports so far, except the plain one. */
  get ports(): Iterable<Toolport> {
    return this.#ports.values();
  }

  /** Identifies a caller by its headers and provider; undefined without both. */
  portFor({ headers, authProvider }: CustomHTTPTransportOptions = {}): Toolport {
    const fields = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
    if (fields.length === 0 && authProvider === undefined) return this.#toolport;
    const sorted = fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    const identity = JSON.stringify([sorted, authProvider === undefined ? 0 : this.#numberOf(authProvider)]);
    const known = this.#ports.get(identity);
    if (known !== undefined) return known;
    // Names appear in logs and traces, so this one reveals nothing about the credentials.
    const port = this.#toolport.as(`caller-${crypto.randomUUID()}`, {
      ...(fields.length > 0 && { headers: { ...headers } }),
      ...(authProvider !== undefined && {
        // A provider of SDK v1 has the same methods under the same names.
        authProvider: authProvider as NonNullable<PrincipalOptions["authProvider"]>,
      }),
    });
    this.#ports.set(identity, port);
    return port;
  }

  #numberOf(provider: object): number {
    const known = this.#providers.get(provider);
    if (known !== undefined) return known;
    this.#lastProvider += 1;
    this.#providers.set(provider, this.#lastProvider);
    return this.#lastProvider;
  }
}
