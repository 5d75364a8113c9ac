/** A read-only client for MCP registries. */
import {
  ConfigError,
  ConnectionError,
  callSafely,
  type Fields,
  isRecord,
  ToolCallError,
  USER_AGENT,
} from "@toolport/base";
import { systemFetch } from "@toolport/core/internal";
import { checkStore } from "@toolport/stores";
import {
  type AllServersOptions,
  createAddress,
  type GetServerOptions,
  type ListServersOptions,
  type McpRegistryClientOptions,
  OFFICIAL_REGISTRY,
  type RegistryCallOptions,
  toListQuery,
} from "./registry-options.js";
import {
  createMemoryCache,
  createStoreCache,
  RegistryRequests,
  type ResponseCache,
} from "./registry-requests.js";
import {
  InvalidValue,
  type RegistryPage,
  type RegistryServer,
  readRegistryPage,
  readRegistryServer,
} from "./server-json.js";

const MAX_PAGES = 1_000;
/** The maximum page size of the official registry, to list all servers with the fewest requests. */
const WHOLE_PAGE = 100;

/** Any JSON object: the specification does not define the fields. */
export type RegistryInfo = Readonly<Record<string, unknown>>;

/**
 * Lists and gets servers of an MCP registry.
 *
 * **Discovering MCP servers and using them, above all running them locally, may present serious security risks. Before you
 * run a server found in a public registry, make sure that you can trust it.**
 *
 * @example
 * ```ts
 * const registry = new McpRegistryClient();
 * const { servers, nextCursor } = await registry.listServers({ search: "weather", limit: 10 });
 * ```
 */
export class McpRegistryClient {
  readonly #address: ReturnType<typeof createAddress>;
  readonly #requests: RegistryRequests;
  readonly #warn: NonNullable<McpRegistryClientOptions["onWarning"]>;

  constructor(options: McpRegistryClientOptions = {}) {
    const { baseUrl = OFFICIAL_REGISTRY, retry = {}, maxStaleMs = 86_400_000, onWarning } = options;
    this.#address = createAddress(baseUrl);
    // An exception in the listener must not fail the request.
    this.#warn = (warning) =>
      onWarning &&
      callSafely(
        () => onWarning(warning),
        () => {},
      );
    this.#requests = new RegistryRequests({
      fetch: options.fetch ?? systemFetch,
      headers: options.headers,
      userAgent: options.userAgent ?? USER_AGENT,
      timeoutMs: options.timeoutMs ?? 15_000,
      maxTimeoutMs: options.maxTimeoutMs ?? 60_000,
      maxAttempts: retry === false ? 1 : (retry.maxAttempts ?? 3),
      baseMs: retry === false ? 0 : (retry.baseMs ?? 500),
      maxBytes: options.maxBytes ?? 10 * 1024 * 1024,
      cache: createCache(options, maxStaleMs),
      freshMs: options.freshMs ?? 0,
      maxStaleMs,
      warn: this.#warn,
    });
  }

  /** Gets one page of the list. */
  async listServers(options: ListServersOptions = {}): Promise<RegistryPage> {
    const url = this.#address(["servers"], toListQuery(options));
    return this.#page(url, options);
  }

  /**
   * All pages, starting at `cursor`. Throws if the registry repeats a cursor or has more than `maxPages` pages, so that an
   * incomplete list does not look complete.
   */
  async *pages(options: AllServersOptions = {}): AsyncGenerator<RegistryPage, void, undefined> {
    const { maxPages = MAX_PAGES, limit = WHOLE_PAGE, ...rest } = options;
    const seen = new Set<string | undefined>([rest.cursor]);
    let cursor = rest.cursor;
    for (let count = 1; ; count++) {
      const page = await this.listServers({ ...rest, limit, cursor });
      yield page;
      cursor = page.nextCursor;
      if (cursor === undefined) return;
      if (seen.has(cursor)) throw this.#pagingError("BAD_RESPONSE", "The registry repeats a cursor");
      if (count >= maxPages) {
        throw this.#pagingError("MESSAGE_TOO_LARGE", `The list has more than ${maxPages} pages`);
      }
      seen.add(cursor);
    }
  }

  /** All servers of all pages. Pages are fetched on demand. */
  async *servers(options: AllServersOptions = {}): AsyncGenerator<RegistryServer, void, undefined> {
    for await (const { servers } of this.pages(options)) yield* servers;
  }

  /**
   * Gets one version of one server.
   *
   * @throws ConfigError with code `UNKNOWN_SERVER` if it does not exist.
   */
  async getServer(
    name: string,
    version: string = "latest",
    options: GetServerOptions = {},
  ): Promise<RegistryServer> {
    const route = ["servers", required("name", name), "versions", required("version", version)];
    const { value, stale } = await this.#requests.find({
      url: this.#address(route, deletedQuery(options)),
      read: readRegistryServer,
      notFound: () => this.#unknown(name, version),
      options,
    });
    return stale === undefined ? value : { ...value, stale };
  }

  /**
   * Gets all versions of one server, newest first, on one page.
   *
   * @throws ConfigError with code `UNKNOWN_SERVER` if it does not exist.
   */
  async getServerVersions(name: string, options: GetServerOptions = {}): Promise<RegistryPage> {
    const url = this.#address(["servers", required("name", name), "versions"], deletedQuery(options));
    return this.#page(url, options, () => this.#unknown(name));
  }

  /** Gets the health of the registry. Never cached, never retried. */
  async health(options: RegistryCallOptions = {}): Promise<RegistryInfo & { status?: string }> {
    return this.#live("health", options);
  }

  /** Checks that the registry responds. Never cached, never retried. */
  async ping(options: RegistryCallOptions = {}): Promise<RegistryInfo & { pong?: boolean }> {
    return this.#live("ping", options);
  }

  /** Gets the software version of the registry. Never cached, never retried. */
  async version(options: RegistryCallOptions = {}): Promise<RegistryInfo & { version?: string }> {
    return this.#live("version", options);
  }

  async #page(url: URL, options: RegistryCallOptions, notFound?: () => ConfigError): Promise<RegistryPage> {
    const { value, stale } = await this.#requests.find({ url, read: readRegistryPage, notFound, options });
    const { skipped } = value;
    if (skipped.length > 0) {
      const message = `${url.host} lists ${skipped.length} entries that cannot be used: ${skipped[0]?.reason}`;
      this.#warn({ kind: "skipped", message, skipped });
    }
    return stale === undefined ? value : { ...value, stale };
  }

  async #live(route: string, options: RegistryCallOptions): Promise<RegistryInfo> {
    const read = (value: unknown): Fields => {
      if (!isRecord(value)) throw new InvalidValue("it is not an object");
      return value;
    };
    return (await this.#requests.find({ url: this.#address([route]), read, isLive: true, options })).value;
  }

  #unknown(name: string, version?: string): ConfigError {
    const which = version === undefined ? "" : ` in the version ${JSON.stringify(version)}`;
    return new ConfigError({
      server: this.#address([]).host,
      code: "UNKNOWN_SERVER",
      what: `The registry has no server ${JSON.stringify(name)}${which}`,
      next: "Search for it with `listServers({ search })`",
    });
  }

  #pagingError(code: "BAD_RESPONSE" | "MESSAGE_TOO_LARGE", what: string): ConnectionError {
    const next =
      code === "BAD_RESPONSE"
        ? "Use the pages received so far, or report it to the registry's operator"
        : "Narrow the list with `search` or `updatedSince`, or raise `maxPages`";
    return new ConnectionError({ server: this.#address([]).host, code, what, next });
  }
}

function createCache(options: McpRegistryClientOptions, maxStaleMs: number): ResponseCache | undefined {
  const { cache = true, headers } = options;
  if (cache === false) return undefined;
  // Responses for one account must not reach another account with the same store.
  if (cache === true || headers !== undefined) return createMemoryCache();
  return createStoreCache(checkStore(cache, "cache"), maxStaleMs);
}

const deletedQuery = ({ includeDeleted }: GetServerOptions): URLSearchParams =>
  new URLSearchParams(includeDeleted === true ? { include_deleted: "true" } : {});

/** An empty part, `.` or `..` would change the route. */
function required(path: string, value: string): string {
  if (typeof value === "string" && value !== "" && value !== "." && value !== "..") return value;
  const message = "must be a non-empty string";
  throw new ToolCallError({
    code: "INVALID_ARGUMENTS",
    what: `Invalid options for the registry: ${path} ${message}`,
    issues: [{ path, message }],
    outcome: "unsent",
  });
}
