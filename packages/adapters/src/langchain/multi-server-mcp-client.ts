/** `MultiServerMCPClient`: the class of `@langchain/mcp-adapters`, implemented with a port. */
import type { DynamicStructuredTool } from "@langchain/core/tools";
import type { Client, LoggingLevel } from "@modelcontextprotocol/client";
import {
  copyPlain,
  definedFields,
  type ResourceInfo,
  type ResourceTemplateInfo,
  type ToolInfo,
  type ToolportError,
  type WithheldTool,
} from "@toolport/base";
import type { ConnectReport, Toolport, ToolportSnapshot } from "@toolport/core";
import { targetOf } from "@toolport/schemas/internal";
import type {
  ClientConfig,
  Connection,
  CustomHTTPTransportOptions,
  MCPResource,
  MCPResourceContent,
  MCPResourceTemplate,
} from "./client-config.js";
import { allWithheld, asClientError, loadError, MCPClientError } from "./errors.js";
import { interruptsOf } from "./interrupts.js";
import {
  type OpenedClient,
  openClient,
  type ReadConfig,
  readClientConfig,
  uniqueNames,
} from "./opened-client.js";
import { readSettings, type ToolPort } from "./run-tool.js";
import { type Conversion, convertTools } from "./to-tools.js";

type ServersOrOptions = readonly string[] | readonly [readonly string[], CustomHTTPTransportOptions?];

/**
 * Connects to MCP servers and loads their tools as LangChain tools.
 *
 * @example
 * ```ts
 * const client = new MultiServerMCPClient({
 *   math: { command: "npx", args: ["-y", "@modelcontextprotocol/server-math"] },
 *   weather: { url: "https://example.com/weather/mcp" },
 * });
 * const tools = await client.getTools();
 * ```
 */
export class MultiServerMCPClient implements AsyncDisposable {
  readonly #read: ReadConfig;
  #opened: OpenedClient | undefined;

  /** @throws an error named `ZodError` with `issues` if the configuration is invalid */
  constructor(config: ClientConfig | Readonly<Record<string, Connection>>) {
    this.#read = readClientConfig(config);
    this.#opened = openClient(this.#read);
  }

  /** A copy of the configuration with defaults. Changing it has no effect. */
  get config(): ClientConfig {
    return copyPlain(this.#read.config);
  }

  /**
   * Tools that servers list but that are not offered, with the reason, such as a malformed schema. With
   * `throwOnLoadError: false`, this is the only report of them.
   */
  get withheldTools(): readonly WithheldTool[] {
    if (this.#opened === undefined) return [];
    const { toolport, callers, unconverted } = this.#opened;
    return allWithheld([toolport, ...callers.ports], [...unconverted.values()].flat());
  }

  /**
   * Connects to all servers at once and loads their tools. Every other method does that if needed.
   *
   * @returns the tools of each server, by its name
   * @throws MCPClientError when a server cannot be connected, or lists a tool that cannot be offered, unless `onConnectionError`
   * or `throwOnLoadError` says otherwise
   */
  async initializeConnections(
    options?: CustomHTTPTransportOptions,
  ): Promise<Record<string, DynamicStructuredTool[]>> {
    return this.#load(this.#names(), options);
  }

  /**
   * The tools of all servers, or of those named. With options they stay bound to that caller: its headers and
   * its provider, on separate connections.
   */
  getTools(...servers: string[]): Promise<DynamicStructuredTool[]>;
  getTools(servers: string[], options?: CustomHTTPTransportOptions): Promise<DynamicStructuredTool[]>;
  async getTools(...given: ServersOrOptions): Promise<DynamicStructuredTool[]> {
    const { servers, options } = this.#choose(given);
    return Object.values(await this.#load(servers, options)).flat();
  }

  /** The SDK's client of a server, for methods that do not exist here; undefined if it is not available. */
  async getClient(serverName: string, options?: CustomHTTPTransportOptions): Promise<Client | undefined> {
    const [connected] = await this.#connect([serverName], options);
    return connected === undefined ? undefined : this.#portOf(serverName, options).client(serverName);
  }

  /** The resources of all servers, or of those named, by server. */
  listResources(...servers: string[]): Promise<Record<string, MCPResource[]>>;
  listResources(
    servers: string[],
    options?: CustomHTTPTransportOptions,
  ): Promise<Record<string, MCPResource[]>>;
  async listResources(...given: ServersOrOptions): Promise<Record<string, MCPResource[]>> {
    return this.#list(given, ({ resources }) => resources, toResource);
  }

  /** The resource templates of all servers, or of those named, by server. */
  listResourceTemplates(...servers: string[]): Promise<Record<string, MCPResourceTemplate[]>>;
  listResourceTemplates(
    servers: string[],
    options?: CustomHTTPTransportOptions,
  ): Promise<Record<string, MCPResourceTemplate[]>>;
  async listResourceTemplates(...given: ServersOrOptions): Promise<Record<string, MCPResourceTemplate[]>> {
    return this.#list(given, ({ resourceTemplates }) => resourceTemplates, toResourceTemplate);
  }

  /** Reads a resource; a URI may have several contents. */
  async readResource(
    serverName: string,
    uri: string,
    options?: CustomHTTPTransportOptions,
  ): Promise<MCPResourceContent[]> {
    const [connected] = await this.#connect([serverName], options);
    if (connected === undefined) {
      throw new MCPClientError(`Server "${serverName}" not found or not connected`, serverName);
    }
    try {
      const contents = await this.#portOf(serverName, options).readResource(serverName, uri);
      return contents.map(({ uri: at, mimeType, text, blob }) =>
        definedFields({ uri: at, mimeType, text, blob }),
      );
    } catch (cause) {
      throw asClientError(cause, serverName, `Failed to read resource "${uri}"`);
    }
  }

  /** Requests log messages of this level and above from all servers, or from one; `onMessage` receives them. */
  setLoggingLevel(level: LoggingLevel): Promise<void>;
  setLoggingLevel(serverName: string, level: LoggingLevel): Promise<void>;
  async setLoggingLevel(...given: [LoggingLevel] | [string, LoggingLevel]): Promise<void> {
    const names = given.length === 1 ? this.#names() : [given[0]];
    const level = given[given.length - 1] as LoggingLevel;
    const connected = await this.#connect(names, undefined);
    await Promise.all(connected.map((server) => this.#now().levels.set(server, level)));
  }

  /** Closes all connections. Existing tools no longer work; the client itself may be used again. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.retries.stop();
    await opened?.toolport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #names(): string[] {
    return Object.keys(this.#read.entries);
  }

  #now(): OpenedClient {
    this.#opened ??= openClient(this.#read);
    return this.#opened;
  }

  /** Local processes do not use headers and providers: all callers share them. */
  #portOf(server: string, options: CustomHTTPTransportOptions | undefined): Toolport {
    const { toolport, callers } = this.#now();
    const entry = this.#read.entries[server];
    const isRemote = entry !== undefined && ["url", "sseUrl", "base_url"].some((key) => key in entry);
    return isRemote ? callers.portFor(options) : toolport;
  }

  #choose(given: ServersOrOptions): { servers: string[]; options: CustomHTTPTransportOptions | undefined } {
    const [first, options] = given;
    const named = Array.isArray(first) ? first : given;
    const servers = named.length === 0 ? this.#names() : ([...named] as string[]);
    return { servers, options: Array.isArray(first) ? (options as CustomHTTPTransportOptions) : undefined };
  }

  /** Connects servers as needed; returns those that are connected. */
  async #connect(
    servers: readonly string[],
    options: CustomHTTPTransportOptions | undefined,
  ): Promise<string[]> {
    const { entries } = this.#read;
    const wanted = servers.filter((name) => entries[name] !== undefined && entries[name].enabled !== false);
    const reports = await this.#reports(wanted, options);
    for (const { name, error } of reports) {
      if (error !== undefined)
        await this.#onFailure(asClientError(error, name, `Failed to connect to server "${name}"`), name);
    }
    return reports.filter(({ error }) => error === undefined).map(({ name }) => name);
  }

  /** Throws, or returns if the policy is to continue without the server. */
  async #onFailure(error: MCPClientError, serverName: string): Promise<void> {
    const { onConnectionError: policy } = this.#read.config;
    if (policy === "throw") throw error;
    // Errors of this function are passed to the caller.
    if (typeof policy === "function") await policy({ serverName, error });
  }

  /** All servers of a port at once, so that their tools get their names in the order of the configuration. */
  async #reports(
    servers: readonly string[],
    options: CustomHTTPTransportOptions | undefined,
  ): Promise<{ name: string; error: ToolportError | undefined }[]> {
    const { retries } = this.#now();
    const reports: ConnectReport["servers"] = {};
    const ports = [...new Set(servers.map((name) => this.#portOf(name, options)))];
    await Promise.all(
      ports.map(async (port) => {
        const isAsked = (name: string) =>
          this.#portOf(name, options) === port && retries.errorOf(port, name) === undefined;
        Object.assign(reports, (await port.connect({ servers: servers.filter(isAsked) })).servers);
      }),
    );
    const { config, entries } = this.#read;
    return servers.map((name) => {
      const port = this.#portOf(name, options);
      const report = reports[name];
      if (report !== undefined && config.onConnectionError !== "throw")
        retries.note(port, name, report, entries[name]!);
      return { name, error: report === undefined ? retries.errorOf(port, name) : report.error };
    });
  }

  async #list<Item extends { server: string }, Shape>(
    given: ServersOrOptions,
    listIn: (snapshot: ToolportSnapshot) => readonly Item[],
    toShape: (item: Item) => Shape,
  ): Promise<Record<string, Shape[]>> {
    const { servers, options } = this.#choose(given);
    const connected = await this.#connect(servers, options);
    const shapesOf = (server: string) =>
      listIn(this.#portOf(server, options).snapshot())
        .filter((item) => item.server === server)
        .map(toShape);
    return Object.fromEntries(connected.map((server) => [server, shapesOf(server)]));
  }

  async #load(
    servers: readonly string[],
    options: CustomHTTPTransportOptions | undefined,
  ): Promise<Record<string, DynamicStructuredTool[]>> {
    const connected = await this.#connect(servers, options);
    const { toolport, unconverted } = this.#now();
    const { config, entries } = this.#read;
    // The tools of a caller come from two ports, which assign names independently.
    const nameOf = uniqueNames(config.additionalToolNamePrefix ?? "");
    const loaded: Record<string, DynamicStructuredTool[]> = {};
    if (config.toolport?.deferTools) {
      // Only of connected servers: do not wait for the others.
      const infos = await toolport.tools({ servers: connected });
      const own = infos.filter(({ server }) => entries[server] === undefined);
      loaded["toolport"] = this.#convert(own, toolport, { options, nameOf });
    }
    for (const server of connected) {
      const port = this.#portOf(server, options);
      const infos = await port.tools({ servers: [server] });
      // Toolport's own two tools were added above, once for all servers.
      const tools = infos.filter((info) => info.server === server);
      unconverted.delete(server);
      if (config.throwOnLoadError) {
        const filters = { own: entries[server], all: config.toolport };
        const error = loadError(server, port.snapshot(), filters);
        if (error !== undefined) await this.#onFailure(error, server);
      }
      loaded[server] = this.#convert(tools, port, { options, nameOf });
    }
    return loaded;
  }

  #convert(
    infos: readonly ToolInfo[],
    toolport: Toolport,
    { options, nameOf }: Pick<Conversion, "nameOf"> & { options: CustomHTTPTransportOptions | undefined },
  ): DynamicStructuredTool[] {
    const { config } = this.#read;
    const { levels, unconverted, toolport: shared } = this.#now();
    const port: ToolPort = {
      toolport,
      hooks: config,
      target: targetOf(config.schema),
      settingsOf: (server) => readSettings(config, config.mcpServers[server]),
      withHeaders: async (server, headers) => {
        const itsPort = this.#portOf(server, { ...options, headers: { ...options?.headers, ...headers } });
        return itsPort === this.#now().toolport ? undefined : itsPort;
      },
      interrupts: interruptsOf(config, toolport !== shared),
      metaOf: (server) => levels.metaOf(server),
    };
    const onLeftOut = (tool: WithheldTool) =>
      unconverted.set(tool.server, [...(unconverted.get(tool.server) ?? []), tool]);
    const { throwOnLoadError = true } = config;
    return convertTools(infos, { port, throwOnLoadError, nameOf, onLeftOut });
  }
}

const toResource = ({ uri, ...rest }: ResourceInfo): MCPResource => ({ uri, ...describe(rest) });

const toResourceTemplate = ({ uriTemplate, ...rest }: ResourceTemplateInfo): MCPResourceTemplate => ({
  uriTemplate,
  ...describe(rest),
});

const describe = ({ name, title, description, mimeType }: Omit<ResourceInfo, "server" | "uri">) =>
  definedFields({ name: title ?? name, description, mimeType });
