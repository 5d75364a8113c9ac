/** A real server over HTTP whose stream of changes opens when the test says so. */
import { EventEmitter, once } from "node:events";
import {
  createTestServer,
  type TestHttpServer,
  type TestServer,
  type TestServerDefinition,
} from "../../packages/testing/src/index.js";
import { createToolport, type Toolport, type ToolportOptions } from "../../packages/toolport/src/index.js";

export interface LateServer extends AsyncDisposable {
  readonly url: string;
  readonly server: TestServer;
  readonly http: TestHttpServer;
  /** JSON-RPC methods, and `GET`, in the order of arrival. */
  readonly requests: string[];
  count(method: string): number;
  /** Resolves when a request of this method arrives. */
  next(method: string): Promise<void>;
  /** From now on, requests of this method wait until {@link release}. */
  hold(method: string): void;
  release(method: string): void;
}

/** The request for the stream of changes. */
export const STREAM = { modern: "subscriptions/listen", legacy: "GET" } as const;

export async function lateServer(definition: TestServerDefinition): Promise<LateServer> {
  const server = createTestServer(definition);
  const requests: string[] = [];
  const news = new EventEmitter();
  const held = new Map<string, { readonly released: Promise<void>; readonly release: () => void }>();
  const http = await server.http({
    async intercept(request) {
      const isPost = request.method === "POST";
      const method = isPost ? ((await request.clone().json()) as { method?: string }).method : request.method;
      if (method === undefined) return undefined;
      requests.push(method);
      news.emit(method);
      await held.get(method)?.released;
      return undefined;
    },
  });
  return {
    url: http.url,
    server,
    http,
    requests,
    count: (method) => requests.filter((each) => each === method).length,
    next: async (method) => void (await once(news, method)),
    hold(method) {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      held.set(method, { released, release });
    },
    release(method) {
      held.get(method)?.release();
      held.delete(method);
    },
    async [Symbol.asyncDispose]() {
      for (const { release } of held.values()) release();
      await server.close();
    },
  };
}

export interface ListsChanged {
  readonly server: string;
  readonly lists: readonly string[];
}

export const nextChange = (toolport: Toolport) =>
  new Promise<ListsChanged>((resolve) => {
    const off = toolport.on("listsChanged", (change) => {
      off();
      resolve(change);
    });
  });

export interface Wire {
  /** Resolves when the server has acknowledged a subscription. */
  readonly acknowledged: Promise<void>;
  /** Resolves when this many responses to requests of this method have arrived. */
  answered(method: string, times: number): Promise<void>;
}

/** Follows the messages of all servers of a port. Begin before they are sent. */
export function followWire(toolport: Toolport): Wire {
  const methods = new Map<unknown, string>();
  const counts = new Map<string, number>();
  const news = new EventEmitter();
  const acknowledged = once(news, "acknowledged").then(() => {});
  toolport.on("message", ({ direction, message }) => {
    const { id, method } = message as { id?: unknown; method?: string };
    if (direction === "sent" && method !== undefined) methods.set(id, method);
    if (method === "notifications/subscriptions/acknowledged") news.emit("acknowledged");
    if (direction === "sent" || method !== undefined) return;
    const answered = methods.get(id) ?? "";
    counts.set(answered, (counts.get(answered) ?? 0) + 1);
    news.emit("answered");
  });
  return {
    acknowledged,
    async answered(method, times) {
      while ((counts.get(method) ?? 0) < times) await once(news, "answered");
    },
  };
}

/**
 * Connects a server whose lists wait until the client's stream of changes is open, so that no list is read twice.
 *
 * @param lists lets the server answer lists when the given promise resolves
 */
export async function connectListening(
  era: "modern" | "legacy",
  options: ToolportOptions,
  lists: (opened: Promise<void>) => void,
): Promise<Toolport> {
  // Toolport waits for the SDK only briefly before it reads the lists, and a busy machine may take longer to load it.
  await import("@modelcontextprotocol/client");
  const news = new EventEmitter();
  const streaming = once(news, "open").then(() => {});
  const toolport = createToolport({
    ...options,
    ...(era === "legacy" && {
      async fetch(input, init) {
        const response = await fetch(input, init);
        // The client handles the response before this.
        if (init?.method === "GET") setImmediate(() => news.emit("open"));
        return response;
      },
    }),
  });
  lists(era === "modern" ? followWire(toolport).acknowledged : streaming);
  await toolport.connect();
  return toolport;
}
