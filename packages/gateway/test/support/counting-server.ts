/** A real server over HTTP that records every request it receives, with the user who sent it. */
import { EventEmitter, once } from "node:events";
import { createTestServer, type TestServer, type TestServerDefinition } from "@toolport/testing";

/** One HTTP request: the JSON-RPC method of a POST, or the HTTP method. */
export interface CountedRequest {
  readonly method: string;
  readonly user: string | undefined;
}

export interface CountingServer extends AsyncDisposable {
  readonly url: string;
  readonly server: TestServer;
  readonly requests: CountedRequest[];
  /** Methods in order of arrival, of one user or of all. */
  methods(user?: string): string[];
  /** Resolves with the next request of this method. */
  next(method: string): Promise<void>;
  /** Number of open listening streams. */
  readonly openStreams: number;
  /** Resolves when the client closes a listening stream. */
  streamClosed(): Promise<void>;
  /** Answers every request with this status until it is undefined again. */
  status: number | undefined;
}

/** Waits for a server on a slow machine. */
export const PATIENT = { limitMs: 60_000 };

export const TOOLS: TestServerDefinition = {
  tools: { echo: { description: "Echo", handler: () => "ok" } },
  prompts: { plan: { get: () => "a plan" } },
  resources: { "test://a": { text: "a" } },
};

export async function countingServer(definition: TestServerDefinition): Promise<CountingServer> {
  const server = createTestServer(definition);
  const requests: CountedRequest[] = [];
  const state = { status: undefined as number | undefined };
  const news = new EventEmitter();
  let openStreams = 0;
  const http = await server.http({
    async intercept(request) {
      const body = (request.method === "POST" ? await request.clone().json() : {}) as { method?: string };
      const user = request.headers.get("x-user") ?? undefined;
      requests.push({ method: body.method ?? request.method, user });
      const method = body.method ?? request.method;
      if (method === "GET" || method === "subscriptions/listen") {
        openStreams += 1;
        request.signal.addEventListener("abort", () => {
          openStreams -= 1;
          news.emit("closed");
        });
      }
      news.emit(`request ${method}`);
      return state.status === undefined ? undefined : new Response("down", { status: state.status });
    },
  });
  return {
    url: http.url,
    server,
    requests,
    methods: (user) =>
      requests.filter((each) => user === undefined || each.user === user).map(({ method }) => method),
    next: async (method) => void (await once(news, `request ${method}`)),
    get openStreams() {
      return openStreams;
    },
    streamClosed: async () => void (await once(news, "closed")),
    get status() {
      return state.status;
    },
    set status(status) {
      state.status = status;
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}
