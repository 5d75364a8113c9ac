/** The routes of the guide in the real frameworks, which read the body or change the path of a request first. */
import type { IncomingMessage, RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import type { Gateway } from "toolport/serve";
import { describe, expect, it } from "vitest";
import { describeFramework, PONG, ping, type Routes } from "./support/framework-suite.js";

const toGateway =
  (gateway: Gateway): express.RequestHandler =>
  (request, response) =>
    gateway.node(request, response);

const parsed =
  (parser: express.RequestHandler): Routes =>
  (gateway) =>
    express().use(parser).all("/mcp", toGateway(gateway));

describeFramework("Express", (gateway) => express().all("/mcp", toGateway(gateway)));
describeFramework("Express with app.use", (gateway) => express().use("/mcp", toGateway(gateway)));
describeFramework("Express after express.json()", parsed(express.json()));
describeFramework("Express after express.text()", parsed(express.text({ type: "*/*" })));
describeFramework("Express after express.raw()", parsed(express.raw({ type: "*/*" })));
describeFramework("Express after a parser of forms", parsed(express.urlencoded()));
describeFramework("Hono", (gateway) => {
  const app = new Hono().all("/mcp", (context) => gateway.fetch(context.req.raw));
  return getRequestListener(app.fetch);
});

describe("a path that Express has shortened", () => {
  const mounted =
    (prefix: string): Routes =>
    (gateway) =>
      express().use(prefix, toGateway(gateway));

  it.each([
    ["/mcp", "/mcp?a=b"],
    ["/api", "/api/mcp"],
    ["/", "/mcp"],
  ])("by %s", async (prefix, path) => {
    expect(await ping(mounted(prefix), path)).toEqual(PONG);
  });

  it("is known for the other paths of the gateway", async () => {
    expect(await ping(mounted("/healthz"), "/healthz")).toEqual({ status: 200, body: "ok" });
    expect(await ping(mounted("/other"), "/other/x")).toEqual({ status: 404, body: "Not found" });
  });
});

describe("a body that a program has read before", () => {
  const reads = (pass: (request: IncomingMessage, body: string) => IncomingMessage) => (gateway: Gateway) => {
    const route: RequestListener = async (request, response) => {
      const body = await text(request);
      gateway.node(pass(request, body), response);
    };
    return route;
  };

  it("is answered at once with what to do, if it is not passed on", async () => {
    expect(await ping(reads((request) => request))).toEqual({
      status: 500,
      body: expect.stringContaining("Object.assign(request.raw, { body: request.body })"),
    });
  });

  it.each<[string, (body: string) => unknown]>([
    ["an object", JSON.parse],
    ["text", String],
    ["a Buffer", Buffer.from],
    ["a Uint8Array", (body) => new TextEncoder().encode(body)],
  ])("is passed on as %s", async (_, convert) => {
    expect(await ping(reads((request, body) => Object.assign(request, { body: convert(body) })))).toEqual(
      PONG,
    );
  });
});
