/** A console on a port with three servers, one of which would start a program, and a raw HTTP client for it. */
import { createToolport, memoryStore, type Toolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { type RawAnswer, type RawRequest, sendRaw } from "../../../test/support/raw-request.js";
import { type RunningConsole, startConsole } from "../src/start-console.js";
import { buildPage } from "./build-page.js";

/** Secrets that a server returns. */
export const CANARY = "sk-canary0123456789abcdef";
export const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl";

export interface HttpBench extends AsyncDisposable {
  readonly server: TestServer;
  readonly toolport: Toolport;
  readonly console: RunningConsole;
  readonly pageFolder: URL;
  readonly token: string;
  /** Headers of an action: JSON, with the token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Host and Origin are not added automatically. */
  send(path: string, sent?: RawRequest): Promise<RawAnswer>;
  post(action: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<RawAnswer>;
  /** Requests an action and returns its value. Throws its error. */
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
      lean: { ...server.memory(), fallback: "program", defer: true },
      program: { command: process.execPath, args: ["-e", "process.exit(3)", "--token=abc123secret"] },
    },
    store,
  });
  await toolport.connect({ servers: ["things", "lean"] });
  await store.put("test/secret", { accessToken: CANARY }, { secret: true });
  const sources = { things: "toolport.json:3" };
  const running = await startConsole({ toolport, store, sources, pageFolder: page.folder });
  const token = new URL(running.url).hash.slice(3);
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };

  const send: HttpBench["send"] = (path, sent) => sendRaw(running.url, path, sent);
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
