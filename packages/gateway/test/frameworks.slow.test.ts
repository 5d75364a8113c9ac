/** The routes of the guide in frameworks that are fetched: Fastify needs packages for newer versions of Node, Express 4 is an old version. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Gateway } from "toolport/serve";
import { describe, expect, it } from "vitest";
import { describeFramework, PONG, ping, type Routes } from "./support/framework-suite.js";

interface Tools {
  fetchTool(folder: string, name: string, version: string): Promise<string>;
}
const { fetchTool } = (await import("../../../scripts/fetch-tool.mjs" as string)) as Tools;

const load = async (name: string, version: string): Promise<unknown> => {
  const home = await fetchTool(name, name, version);
  return createRequire(join(home, "package.json"))(home);
};

interface FastifyRequest {
  readonly raw: IncomingMessage;
  readonly body: unknown;
}
interface FastifyReply {
  readonly raw: ServerResponse;
  hijack(): void;
}
interface FastifyApp {
  all(path: string, route: (request: FastifyRequest, reply: FastifyReply) => void): void;
  ready(): Promise<unknown>;
  routing(request: IncomingMessage, response: ServerResponse): void;
}
const fastify = (await load("fastify", "5.12.8")) as () => FastifyApp;

const fastifyRoutes =
  (pass: (request: FastifyRequest) => IncomingMessage): Routes =>
  (gateway) => {
    const app = fastify();
    app.all("/mcp", (request, reply) => {
      reply.hijack();
      gateway.node(pass(request), reply.raw);
    });
    return (request, response) => void app.ready().then(() => app.routing(request, response));
  };

describeFramework(
  "Fastify",
  fastifyRoutes((request) => Object.assign(request.raw, { body: request.body })),
);

describe("Fastify without the body that it has read", () => {
  it("is answered with what to do", async () => {
    expect(await ping(fastifyRoutes((request) => request.raw))).toEqual({
      status: 500,
      body: expect.stringContaining("Object.assign(request.raw, { body: request.body })"),
    });
  });
});

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
interface Express4 {
  (): RequestListener & {
    use(middleware: Middleware): void;
    all(path: string, route: (request: IncomingMessage, response: ServerResponse) => void): void;
  };
  json(): Middleware;
  urlencoded(options: { extended: boolean }): Middleware;
}
const express4 = (await load("express", "4.21.2")) as Express4;

const express4Routes = (parser?: Middleware) => (gateway: Gateway) => {
  const app = express4();
  if (parser !== undefined) app.use(parser);
  app.all("/mcp", (request, response) => gateway.node(request, response));
  return app;
};

describeFramework("Express 4", express4Routes());
describeFramework("Express 4 after express.json()", express4Routes(express4.json()));

it("the empty object that Express 4 sets for bodies of other types is no body", async () => {
  expect(await ping(express4Routes(express4.urlencoded({ extended: false })))).toEqual(PONG);
});
