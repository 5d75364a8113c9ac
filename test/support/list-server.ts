/** A real server of the SDK, in memory or over HTTP without sockets, whose lists, streams and delays a schedule controls. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type {
  McpHttpHandler,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { createLinkedTransports, type ServerEntry } from "toolport";
import type { VirtualTime } from "./virtual-time.js";

export type Era = "legacy" | "modern";
export type Way = "memory" | "http";

export const LISTS = ["tools", "resources", "prompts"] as const;
export type ListName = (typeof LISTS)[number];

/** Milliseconds before and after something happens. */
export interface Delay {
  readonly before: number;
  readonly after: number;
}

interface ListServerOptions {
  readonly era: Era;
  readonly way: Way;
  /** Users share lists for this time. */
  readonly publicMs?: number | undefined;
  readonly time: Pick<VirtualTime, "note">;
}

type Sdk = typeof import("@modelcontextprotocol/server") &
  typeof import("@modelcontextprotocol/server/stdio");

/** Load it before time is virtual. */
export const loadServerSdk = async (): Promise<Sdk> => ({
  ...(await import("@modelcontextprotocol/server")),
  ...(await import("@modelcontextprotocol/server/stdio")),
});

const PROTOCOL = { legacy: "legacy", modern: { pin: "2026-07-28" } } as const;
const URL_OF = "http://127.0.0.1:9/mcp";
const NONE: Delay = { before: 0, after: 0 };

/** Who asked; one user over memory. */
const userOf = (headers: Headers): string => headers.get("x-user") ?? "";

export class ListServer {
  /** Each list contains one item with this number. */
  readonly versions: Record<ListName, number> = { tools: 0, resources: 0, prompts: 0 };
  /** Before the server makes a list, and before it sends it. */
  listDelay: Delay = NONE;
  /** Before the server accepts a stream of reports, and before its acknowledgement is sent. */
  streamDelay: Delay = NONE;
  /** The next reads of a list fail. */
  readonly failing: Record<ListName, number> = { tools: 0, resources: 0, prompts: 0 };
  /** What happened, by user and list, or by user. */
  readonly counts = new Map<string, number>();
  /** Reads under way, by user and list. */
  readonly #reading = new Set<{ readonly list: ListName; readonly user: string }>();
  readonly #sdk: Sdk;
  readonly #options: ListServerOptions;
  readonly #modern: McpHttpHandler;
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  readonly #servers = new Set<Server>();
  readonly #pipes = new Set<{ close(): Promise<void> }>();
  readonly #streams = new Set<() => void>();

  constructor(sdk: Sdk, options: ListServerOptions) {
    this.#sdk = sdk;
    this.#options = options;
    this.#modern = sdk.createMcpHandler(({ requestInfo }) => this.#build(userOf(requestInfo!.headers)), {
      legacy: "reject",
    });
  }

  get entry(): ServerEntry {
    const { era, way } = this.#options;
    if (way === "http") return { url: URL_OF, protocol: PROTOCOL[era] };
    return { transport: () => this.#connect(), protocol: PROTOCOL[era] };
  }

  /** For the `fetch` of a port. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    this.#options.time.note();
    const text = request.method === "POST" ? await request.clone().text() : "";
    const isStream = request.method === "GET" || text.includes('"subscriptions/listen"');
    if (!isStream) return this.#handle(request);
    const { before, after } = this.streamDelay;
    await this.#pause(before, signal);
    const response = this.#droppable(await this.#handle(request), userOf(request.headers));
    await this.#pause(after, signal);
    return response;
  };

  /** Changes a list several times at once, and reports each change. */
  async change(list: ListName, times: number): Promise<void> {
    this.#count(`change ${list}`);
    for (let time = 0; time < times; time += 1) {
      this.versions[list] += 1;
      this.#modern.notify[`${list}Changed`]();
      const send = {
        tools: "sendToolListChanged",
        resources: "sendResourceListChanged",
        prompts: "sendPromptListChanged",
      };
      await Promise.allSettled(
        [...this.#servers].map((server) => server[send[list] as "sendToolListChanged"]()),
      );
    }
  }

  /** A reader that loses its connection repeats the reads under way. */
  interrupt(): void {
    for (const { list, user } of this.#reading) this.#count(`failure ${list} ${user}`);
  }

  /** Ends all streams of reports; over memory, the connections. */
  drop(): void {
    this.interrupt();
    for (const end of [...this.#streams]) end();
    for (const pipe of [...this.#pipes]) void pipe.close();
  }

  async close(): Promise<void> {
    this.drop();
    await this.#modern.close();
    await Promise.allSettled([...this.#sessions.values()].map((transport) => transport.close()));
  }

  countOf(what: string): number {
    return this.counts.get(what) ?? 0;
  }

  #count(what: string): void {
    this.counts.set(what, this.countOf(what) + 1);
  }

  #build(user: string): Server {
    const { publicMs } = this.#options;
    const hint = publicMs === undefined ? undefined : { ttlMs: publicMs, cacheScope: "public" as const };
    const listChanged = { listChanged: true };
    const server = new this.#sdk.Server(
      { name: "lists", version: "1" },
      {
        capabilities: { tools: listChanged, resources: listChanged, prompts: listChanged },
        ...(hint && { cacheHints: { "tools/list": hint, "resources/list": hint, "prompts/list": hint } }),
      },
    );
    server.setRequestHandler("tools/list", () =>
      this.#read(user, "tools", (name) => ({ tools: [{ name, inputSchema: { type: "object" as const } }] })),
    );
    server.setRequestHandler("resources/list", () =>
      this.#read(user, "resources", (name) => ({ resources: [{ name, uri: `test://${name}` }] })),
    );
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
    server.setRequestHandler("prompts/list", () =>
      this.#read(user, "prompts", (name) => ({ prompts: [{ name }] })),
    );
    return server;
  }

  async #read<Result>(user: string, list: ListName, make: (name: string) => Result): Promise<Result> {
    const { before, after } = this.listDelay;
    const reading = { list, user };
    this.#reading.add(reading);
    this.#count(`read ${list} ${user}`);
    try {
      await this.#pause(before);
      if (this.failing[list] > 0) {
        this.failing[list] -= 1;
        this.#count(`failure ${list} ${user}`);
        throw new this.#sdk.ProtocolError(-32603, "busy");
      }
      const result = make(`v${this.versions[list]}`);
      await this.#pause(after);
      this.#options.time.note();
      return result;
    } finally {
      this.#reading.delete(reading);
    }
  }

  async #handle(request: Request): Promise<Response> {
    const { era } = this.#options;
    const text = request.method === "POST" ? await request.clone().text() : "";
    if (/"method":"(server\/discover|initialize)"/.test(text))
      this.#count(`connect ${userOf(request.headers)}`);
    if (era === "modern") return this.#modern.fetch(request);
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : this.#sessions.get(id);
    if (known !== undefined) return known.handleRequest(request);
    if (id !== null) return new Response(null, { status: 404 });
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void this.#sessions.set(session, transport),
      onsessionclosed: (session) => void this.#sessions.delete(session),
    });
    await this.#track(this.#build(userOf(request.headers))).connect(transport);
    return transport.handleRequest(request);
  }

  /** A server with a connection of its own, which gets reports. */
  #track(server: Server): Server {
    this.#servers.add(server);
    server.onclose = () => this.#servers.delete(server);
    return server;
  }

  /** A stream that {@link drop} ends. */
  #droppable(response: Response, user: string): Response {
    if (!response.headers.get("content-type")?.includes("event-stream")) return response;
    this.#count(`stream ${user}`);
    const { time } = this.#options;
    const reader = response.body!.getReader();
    let end = () => {};
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        end = () => {
          if (!this.#streams.delete(end)) return;
          void reader.cancel();
          controller.error(new Error("The stream was cut"));
        };
        this.#streams.add(end);
      },
      async pull(controller) {
        const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
        time.note();
        if (done) controller.close();
        else controller.enqueue(value!);
      },
      cancel: () => {
        this.#streams.delete(end);
        return reader.cancel();
      },
    });
    const { status, headers } = response;
    return new Response(body, { status, headers });
  }

  /** A connection in memory. Requests for reports, and everything after an acknowledgement, can be late. */
  async #connect() {
    const { era, time } = this.#options;
    const [client, end] = createLinkedTransports();
    const [inner, served] = createLinkedTransports();
    this.#count("connect ");
    if (era === "legacy") await this.#track(this.#build("")).connect(served);
    else this.#sdk.serveStdio(() => this.#track(this.#build("")), { transport: served, legacy: "reject" });
    let sending = Promise.resolve();
    end.onmessage = async (message) => {
      time.note();
      const isStream = "method" in message && message.method === "subscriptions/listen";
      if (isStream) {
        this.#count("stream ");
        await this.#pause(this.streamDelay.before);
      }
      await inner.send(message).catch(() => {});
    };
    inner.onmessage = (message) => {
      time.note();
      const send = () => end.send(message as JSONRPCMessage).catch(() => {});
      if (!("method" in message) || "id" in message) return void send();
      const delay = message.method.endsWith("acknowledged") ? this.streamDelay.after : 0;
      // Reports follow their acknowledgement.
      sending = sending.then(() => this.#pause(delay)).then(send);
    };
    end.onclose = () => {
      this.#pipes.delete(end);
      void inner.close();
    };
    inner.onclose = () => void end.close();
    this.#pipes.add(end);
    await end.start();
    await inner.start();
    return client;
  }

  async #pause(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === 0) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
    this.#options.time.note();
  }
}
