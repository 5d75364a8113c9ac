/** A console on a port with three servers, one of which would start a program, and requests to it exactly as written. */
import { type IncomingHttpHeaders, request } from "node:http";
import { createToolport, memoryStore, type Toolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { type RunningConsole, startConsole } from "../../src/console/start-console.js";
import { buildPage } from "./build-page.js";

/** Secrets that a server sends back. */
export const CANARY = "sk-canary0123456789abcdef";
export const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpBench extends AsyncDisposable {
  readonly server: TestServer;
  readonly toolport: Toolport;
  readonly console: RunningConsole;
  readonly pageFolder: URL;
  readonly token: string;
  /** Headers of an action: JSON, with the token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Neither Host nor Origin is filled in by anybody. */
  send(path: string, sent?: Sent): Promise<Answer>;
  post(action: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The value of an action; throws what it failed with. */
  ask<Value>(action: string, body?: object): Promise<Value>;
}

export async function startHttpBench(): Promise<HttpBench> {
  const page = await buildPage();
  const server = createTestServer({
    name: "things",
    tools: {
      echo: { description: "Says it again", handler: (args) => JSON.stringify(args) },
      leak: {
        handler: () => ({
          isError: true,
          content: [{ type: "text", text: `Refused: Bearer ${CANARY} and ${JWT}` }],
        }),
      },
      slow: {
        handler: (_args, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
      },
    },
    resources: { "docs://index": { text: "The index" } },
    prompts: { hello: { arguments: [{ name: "who" }], get: ({ who }) => `Hello ${who}` } },
  });
  const store = memoryStore();
  const toolport = createToolport({
    mcpServers: {
      things: server.memory(),
      lean: { ...server.memory(), fallback: "program" },
      program: { command: process.execPath, args: ["-e", "process.exit(3)", "--token=abc123secret"] },
    },
    store,
  });
  await toolport.connect({ servers: ["things", "lean"] });
  await store.put("test/secret", { accessToken: CANARY }, { secret: true });
  const sources = { things: "toolport.json:3" };
  const running = await startConsole({ toolport, store, sources, pageFolder: page.folder });
  const { hostname, port, hash } = new URL(running.url);
  const token = hash.slice(3);
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };

  const send = (path: string, { method = "GET", headers: sent = {}, body }: Sent = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const asked = request({ hostname, port, path, method, headers: sent }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      });
      asked.on("error", reject);
      asked.end(body);
    });
  const post: HttpBench["post"] = (action, body = {}, more = {}) =>
    send(`/api/${action}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });

  return {
    server,
    toolport,
    console: running,
    pageFolder: page.folder,
    token,
    headers,
    send,
    post,
    async ask(action, body) {
      const { status, text } = await post(action, body);
      if (status !== 200) throw new Error(`${action} was answered with ${status}`);
      const { value, error } = JSON.parse(text);
      if (error) throw Object.assign(new Error(error.message), error);
      return value;
    },
    async [Symbol.asyncDispose]() {
      await running.close();
      await toolport.close();
      await server.close();
      await page.remove();
    },
  };
}
