/** A real MCP server for tests, written as a few plain objects and served over every transport. */
import type { Server, ServerNotifier } from "@modelcontextprotocol/server";
import type { CustomServerEntry, HttpServerEntry, WebSocketServerEntry } from "../config/server-entry.js";
import type { Connected, SharedState } from "./build-server.js";
import { loadServerSdk } from "./load-server-sdk.js";
import { serveHttp, type TestHttpOptions, type TestHttpServer } from "./serve-http.js";
import { memoryEntry, type Opened, serveConnection } from "./serve-memory.js";
import { serveSse, type TestPortOptions, type TestStreamServer } from "./serve-sse.js";
import { serveStdioBridge, type TestStdioServer } from "./serve-stdio.js";
import { serveWebSocket } from "./serve-web-socket.js";
import type { RecordedCall, TestServerDefinition } from "./test-server-definition.js";

/** A server made of plain objects. It can be served in several ways at once. */
export interface TestServer extends AsyncDisposable {
  /** Every tool call so far, in the order of arrival, over all connections. */
  readonly calls: readonly RecordedCall[];
  /** An entry for `mcpServers`; every connection gets a server instance of its own, in this process. */
  memory(): CustomServerEntry;
  /** Listens on 127.0.0.1. */
  http(options?: TestHttpOptions): Promise<TestHttpServer>;
  /** Listens on 127.0.0.1 for clients of the legacy HTTP+SSE transport. */
  sse(options?: TestPortOptions): Promise<TestStreamServer<HttpServerEntry>>;
  /** Listens on 127.0.0.1 for WebSockets. */
  webSocket(options?: TestPortOptions): Promise<TestStreamServer<WebSocketServerEntry>>;
  /** A command for a real child process whose requests are answered here, so that handlers may use what the test holds. */
  stdio(): Promise<TestStdioServer>;
  /** Serves on the stdin and stdout of this process, for scripts that are spawned themselves. */
  serveStdio(): Promise<void>;
  /** Each family given replaces the former one; connected clients are told that their lists have changed. */
  update(changes: Pick<TestServerDefinition, "tools" | "resources" | "prompts">): Promise<void>;
  /** Tells the clients that subscribed to a resource that it has changed. */
  resourceUpdated(uri: string): Promise<void>;
  /** Closes everything this server has opened. */
  close(): Promise<void>;
}

/**
 * Makes a server for tests. Nothing is opened before one of its methods is called.
 *
 * @example
 * ```ts
 * await using server = createTestServer({
 *   tools: { greet: { description: "Says hello", handler: ({ name }) => `Hello ${name}` } },
 * });
 * await using toolport = createToolport({ mcpServers: { test: server.memory() } });
 * await toolport.callTool("test__greet", { name: "Ada" });
 * server.calls; // [{ name: "greet", args: { name: "Ada" }, at: … }]
 * ```
 */
export function createTestServer(definition: TestServerDefinition): TestServer {
  const state: SharedState = { definition: { ...definition }, calls: [], connected: new Map() };
  const opened = new Set<Opened>();
  const notifiers = new Set<ServerNotifier>();
  const era = definition.era ?? "both";

  async function keep<T extends Opened>(opening: Promise<T>): Promise<T> {
    const thing = await opening;
    opened.add(thing);
    return thing;
  }

  /** Over a connection the server itself tells its client; the HTTP of the modern era has a notifier for all streams. */
  async function notify(
    tell: (server: Server, connected: Connected) => Promise<void> | undefined,
    publish: (notifier: ServerNotifier) => void,
  ): Promise<void> {
    for (const notifier of notifiers) publish(notifier);
    // A client that is just going away cannot be told, and need not be.
    await Promise.allSettled([...state.connected].map(([server, connected]) => tell(server, connected)));
  }

  async function close(): Promise<void> {
    const all = [...opened];
    opened.clear();
    await Promise.all(all.map((thing) => thing.close()));
  }

  return {
    calls: state.calls,
    memory: () => memoryEntry(state, { era, opened }),
    http: (options = {}) => keep(serveHttp(state, { ...options, era: options.era ?? era, notifiers })),
    sse: (options) => keep(serveSse(state, { ...options, opened })),
    webSocket: (options) => keep(serveWebSocket(state, { ...options, era, opened })),
    stdio: () => keep(serveStdioBridge(state, { era, opened })),
    async serveStdio() {
      const sdk = await loadServerSdk();
      await serveConnection(state, new sdk.StdioServerTransport(), { era, opened });
    },
    async update(changes) {
      state.definition = { ...state.definition, ...changes };
      if (changes.tools) {
        await notify(
          (server) => server.sendToolListChanged(),
          (notifier) => notifier.toolsChanged(),
        );
      }
      if (changes.resources) {
        await notify(
          (server) => server.sendResourceListChanged(),
          (notifier) => notifier.resourcesChanged(),
        );
      }
      if (changes.prompts) {
        await notify(
          (server) => server.sendPromptListChanged(),
          (notifier) => notifier.promptsChanged(),
        );
      }
    },
    resourceUpdated: (uri) =>
      notify(
        // In the modern era the SDK keeps the subscriptions and drops what nobody asked for.
        (server, { era, subscriptions }) =>
          era === "modern" || subscriptions.has(uri) ? server.sendResourceUpdated({ uri }) : undefined,
        (notifier) => notifier.resourceUpdated(uri),
      ),
    close,
    [Symbol.asyncDispose]: close,
  };
}
