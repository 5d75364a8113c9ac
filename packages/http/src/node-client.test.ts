import { getEventListeners, once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHttpClient } from "./node-client.js";
import { collectBody } from "./response-body.js";
import { createFetchClient, type WireClient } from "./wire-client.js";

let server: Server;
let url: string;
beforeEach(async () => {
  server = createServer((request, response) => {
    request.resume();
    if (request.url === "/silent") return;
    if (request.url === "/slow") return void setTimeout(() => response.end("slow"), 150);
    if (request.url === "/endless") return void response.writeHead(200).write("x");
    response.writeHead(request.url === "/created" ? 201 : 200, { "set-cookie": ["a=1", "b=2"], "x-a": "1" });
    response.end(
      request.url === "/large" ? "x".repeat(1_000_000) : `${request.method} ${request.headers["x-b"]}`,
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

describe.each<[string, () => WireClient]>([
  ["node", () => createHttpClient()],
  ["fetch", () => createFetchClient()],
])("%s", (name, create) => {
  let client: WireClient;
  beforeEach(() => {
    client = create();
  });
  afterEach(() => client.close());

  it("behaves like fetch", async () => {
    const response = await client.fetch(`${url}/created`, {
      method: "PUT",
      headers: { "X-B": "2" },
      body: "body",
    });
    expect(response).toBeInstanceOf(Response);
    expect(response.status).toBe(201);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.text()).toBe("PUT 2");
    expect(await (await client.fetch(`${url}/large`)).text()).toHaveLength(1_000_000);
    expect(await (await client.fetch(new Request(`${url}/`, { method: "POST", body: "x" }))).text()).toBe(
      "POST undefined",
    );
  });

  it("rejects with the reason of an abort", async () => {
    const reason = { mine: true };
    const controller = new AbortController();
    const pending = client.fetch(`${url}/silent`, { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(pending).rejects.toBe(reason);
    await expect(client.fetch(url, { signal: controller.signal })).rejects.toBe(reason);
  });

  it("reports an unsent request if the connection is refused", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, "close");
    await expect(client.fetch(`http://127.0.0.1:${port}/x?secret=1`)).rejects.toMatchObject({
      code: "UNREACHABLE",
      outcome: "unsent",
      retryable: true,
    });
  });

  it("cancels a body whose reader is cancelled", async () => {
    const response = await client.fetch(`${url}/endless`);
    const closed = new Promise((resolve) => server.once("request", (r) => r.once("close", resolve)));
    const second = await client.fetch(`${url}/endless`);
    await second.body?.cancel();
    await closed;
    await response.body?.cancel();
  });

  it("leaves no listener on a signal shared by 2,000 requests, 64 at a time", async () => {
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const one = async () => {
      const { body } = await client.open({ url: new URL(url), method: "GET", headers: {}, signal });
      await collectBody(body, { maxBytes: 100 });
    };
    for (let round = 0; round < 32; round++) await Promise.all(Array.from({ length: 64 }, one));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(warnings).toEqual([]);
  }, 120_000);

  it.runIf(name === "node")("aborts all requests on close(), and rejects later ones", async () => {
    const pending = client.fetch(`${url}/silent`);
    const failed = expect(pending).rejects.toMatchObject({ code: "CLOSED", outcome: "unknown" });
    await once(server, "request");
    await Promise.all([client.close(), client.close()]);
    await failed;
    await expect(client.fetch(url)).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
    const connections = () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    await expect.poll(connections).toBe(0);
  });
});

/** The client port of each request. */
const portsOf = () => {
  const ports: (number | undefined)[] = [];
  server.on("request", ({ socket }) => ports.push(socket.remotePort));
  return ports;
};

it("reuses a socket, also if requests keep it in use for longer than the idle time", async () => {
  const client = createHttpClient({ keepAliveMs: 50 });
  const ports = portsOf();
  server.keepAliveTimeout = 0;
  await (await client.fetch(url)).text();
  expect(await (await client.fetch(`${url}/slow`)).text()).toBe("slow");
  expect(ports[1]).toBe(ports[0]);
  await client.close();
});

it("closes an idle socket after its time, and a second before the server does", async () => {
  // The server announces that it closes idle sockets after two seconds, but leaves that to the client.
  server.keepAliveTimeout = 0;
  server.prependListener("request", (_request, response) => response.setHeader("Keep-Alive", "timeout=2"));
  const client = createHttpClient({ keepAliveMs: 60_000 });
  const connected = once(server, "connection");
  await (await client.fetch(url)).text();
  const [socket] = await connected;
  await once(socket, "end");
  await client.close();
});

it("times out while connecting", async () => {
  const client = createHttpClient({ connectTimeoutMs: 50, lookup: () => {}, proxy: false });
  await expect(client.fetch("http://silent.example/x?secret=1")).rejects.toMatchObject({
    code: "UNREACHABLE",
    outcome: "unsent",
    retryable: true,
    errno: "ETIMEDOUT",
    message: expect.not.stringContaining("secret"),
  });
  await client.close();
});

it("reuses the socket of a response that is not read", async () => {
  const client = createHttpClient();
  const ports = portsOf();
  for (let i = 0; i < 3; i++) {
    const { body } = await client.open({ url: new URL(url), method: "GET", headers: {} });
    body.cancel();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(new Set(ports).size).toBe(1);
  await client.close();
});
