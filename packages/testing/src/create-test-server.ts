/** A real MCP server for tests, defined by plain objects and served over every transport. */
import type { Server, ServerNotifier } from "@modelcontextprotocol/server";
import type { CustomServerEntry, HttpServerEntry, WebSocketServerEntry } from "@toolport/core";
import { type Connected, loadServerSdk, type ServerSdk, type SharedState } from "./build-server.js";
import {
  memoryEntry,
  type Opened,
  serveConnection,
  serveSse,
  serveStdioBridge,
  serveWebSocket,
  type TestPortOptions,
  type TestStdioServer,
  type TestStreamServer,
} from "./serve-connection.js";
import { serveHttp, type TestHttpOptions, type TestHttpServer } from "./serve-http.js";
import type { RecordedCall, TestServerDefinition } from "./test-server-definition.js";

/** A test server. It can be served over several transports at once. */
export interface TestServer extends AsyncDisposable {
  /** All tool calls so far, over all connections, in order of arrival. */
  readonly calls: readonly RecordedCall[];
  /** An entry for `mcpServers`. Every connection gets its own server instance in this process. */
  memory(): CustomServerEntry;
  /** Listens on 127.0.0.1. */
  http(options?: TestHttpOptions): Promise<TestHttpServer>;
  /** Listens on 127.0.0.1 for clients of the legacy HTTP+SSE transport. */
  sse(options?: TestPortOptions): Promise<TestStreamServer<HttpServerEntry>>;
  /** Listens on 127.0.0.1 for WebSockets. */
  webSocket(options?: TestPortOptions): Promise<TestStreamServer<WebSocketServerEntry>>;
  /** A command for a real child process that forwards requests to this process, so that handlers can use the test's variables. */
  stdio(): Promise<TestStdioServer>;
  /** Serves on stdin and stdout of this process, for scripts that are spawned as servers. */
  serveStdio(): Promise<void>;
  /** Replaces the given tools, resources or prompts, and notifies the connected clients. */
  update(changes: Pick<TestServerDefinition, "tools" | "resources" | "prompts">): Promise<void>;
  /** Notifies the subscribers of a resource that it has changed. */
  resourceUpdated(uri: string): Promise<void>;
  /** Closes all connections and listeners of this server. */
  close(): Promise<void>;
}

/**
 * Creates a server for tests. It opens nothing before one of its methods is called.
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
  return openTestServer(definition, loadServerSdk);
}

/** Each list, and how clients learn of a change: from their server, or from the notifier of all streams. */
const LISTS = [
  ["tools", "sendToolListChanged", "toolsChanged"],
  ["resources", "sendResourceListChanged", "resourcesChanged"],
  ["prompts", "sendPromptListChanged", "promptsChanged"],
] as const;

/** `createTestServer` with a given copy of the SDK's server package. */
export function openTestServer(
  definition: TestServerDefinition,
  loadSdk: () => Promise<ServerSdk>,
): TestServer {
  const state: SharedState = { loadSdk, definition: { ...definition }, calls: [], connected: new Map() };
  const opened = new Set<Opened>();
  const notifiers = new Set<ServerNotifier>();
  const era = definition.era ?? "both";

  async function track<T extends Opened>(opening: Promise<T>): Promise<T> {
    const listener = await opening;
    opened.add(listener);
    return listener;
  }

  /** Notifies persistent connections through their server, and modern HTTP clients through the notifier of all streams. */
  async function notify(
    send: (server: Server, connected: Connected) => Promise<void> | undefined,
    publish: (notifier: ServerNotifier) => void,
  ): Promise<void> {
    for (const notifier of notifiers) publish(notifier);
    // Ignore failures: a client may be disconnecting.
    await Promise.allSettled([...state.connected].map(([server, connected]) => send(server, connected)));
  }

  async function close(): Promise<void> {
    const all = [...opened];
    opened.clear();
    await Promise.all(all.map((each) => each.close()));
  }

  return {
    calls: state.calls,
    memory: () => memoryEntry(state, { era, opened }),
    http: (options = {}) => track(serveHttp(state, { ...options, era: options.era ?? era, notifiers })),
    sse: (options) => track(serveSse(state, { ...options, opened })),
    webSocket: (options) => track(serveWebSocket(state, { ...options, era, opened })),
    stdio: () => track(serveStdioBridge(state, { era, opened })),
    async serveStdio() {
      const sdk = await loadSdk();
      await serveConnection(state, new sdk.StdioServerTransport(), { era, opened });
    },
    async update(changes) {
      state.definition = { ...state.definition, ...changes };
      for (const [list, send, publish] of LISTS)
        if (changes[list])
          await notify(
            (server) => server[send](),
            (notifier) => notifier[publish](),
          );
    },
    resourceUpdated: (uri) =>
      notify(
        // For modern clients the SDK tracks the subscriptions and drops other updates.
        (server, { era, subscriptions }) =>
          era === "modern" || subscriptions.has(uri) ? server.sendResourceUpdated({ uri }) : undefined,
        (notifier) => notifier.resourceUpdated(uri),
      ),
    close,
    [Symbol.asyncDispose]: close,
  };
}
