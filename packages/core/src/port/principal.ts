/** One user of a port, who reaches the same servers with other credentials. */
import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { ConfigIssues, EntryReader } from "@toolport/base";
import { readHeaders, readProcessEnv } from "../config/entry-options.js";
import { SecretRecord } from "../config/known-secrets.js";
import { freezeConfig, type HeaderSource, type ServerConfig } from "../config/server-config.js";
import type { HeadersOption } from "../config/server-entry.js";

/** Options of `as()`. */
export interface PrincipalOptions {
  /** Headers for every server over HTTP or WebSocket. They replace configured headers of the same name. */
  headers?: HeadersOption;
  /** Used for every server over HTTP in place of the configured one. */
  authProvider?: AuthProvider | OAuthClientProvider;
  /**
   * Environment variables for the processes and containers of this user. They replace configured ones of the same name.
   * Servers over the network do not get them. Changed values restart the processes.
   *
   * @default none
   * @example
   * ```ts
   * const ada = toolport.as("ada", { env: { GITHUB_TOKEN: tokenOfAda } });
   * ```
   */
  env?: Readonly<Record<string, string>>;
}

/** What an update of a principal requires: nothing, new processes, or new connections to all servers. */
type Renewal = "nothing" | "processes" | "connections";

/** Holds the current headers, provider and environment: a later `as()` with the same name may replace them. */
export class Principal {
  readonly name: string;
  #options: PrincipalOptions;

  constructor(name: string, options: PrincipalOptions) {
    this.name = name;
    this.#options = copyOf(options);
  }

  get authProvider(): PrincipalOptions["authProvider"] {
    return this.#options.authProvider;
  }

  get hasHeaders(): boolean {
    return this.#options.headers !== undefined;
  }

  /** The current headers; called before every request. */
  async headers(): Promise<Readonly<Record<string, string>>> {
    const { headers = {} } = this.#options;
    return typeof headers === "function" ? headers() : headers;
  }

  get env(): Readonly<Record<string, string>> {
    return this.#options.env ?? {};
  }

  /** Replaces the given options; the others stay. */
  update(options: PrincipalOptions): Renewal {
    const { authProvider: provider, env } = this;
    this.#options = { ...this.#options, ...copyOf(options) };
    if (this.authProvider !== provider) return "connections";
    return hasSameEntries(this.env, env) ? "nothing" : "processes";
  }
}

/** Copies the options that are set, because an explicit undefined must not replace a value. */
function copyOf({ headers, authProvider, env }: PrincipalOptions): PrincipalOptions {
  return {
    ...(headers !== undefined && { headers }),
    ...(authProvider !== undefined && { authProvider }),
    ...(env !== undefined && { env: { ...env } }),
  };
}

function hasSameEntries(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}

/**
 * Validates the arguments of `as()`.
 *
 * @throws ConfigError with every problem
 */
export function readPrincipal(name: string, options: PrincipalOptions): Principal {
  const issues = new ConfigIssues("as");
  if (typeof name !== "string" || name.trim() === "")
    issues.add([], "needs the name of a user as its first argument");
  const reader = new EntryReader(options as Record<string, unknown>, [], issues);
  reader.rejectUnknown(["headers", "authProvider", "env"]);
  readHeaders(reader);
  readProcessEnv(reader);
  issues.throwIfAny();
  return new Principal(name, options);
}

/** Header names are case-insensitive; the values of the user take precedence. */
function merge(
  base: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}

const reveal = async (source: HeaderSource): Promise<Readonly<Record<string, string>>> =>
  typeof source === "function" ? source() : source.reveal();

/** The configuration of a server for one principal. */
export function configFor(config: ServerConfig, principal: Principal | undefined): ServerConfig {
  if (principal === undefined) return config;
  if ("env" in config) {
    const env = new SecretRecord({ ...config.env.reveal(), ...principal.env });
    return freezeConfig({ ...config, env } as ServerConfig);
  }
  if (!("headers" in config)) return config;
  const { headers: base } = config;
  const merged = async () => merge(await reveal(base), await principal.headers());
  // Many users have no headers of their own, and headers are read for every request.
  const headers = () => (principal.hasHeaders || typeof base === "function" ? merged() : base.reveal());
  return freezeConfig({
    ...config,
    headers,
    ...("authProvider" in config && { authProvider: principal.authProvider ?? config.authProvider }),
  } as ServerConfig);
}
