import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { createHttpClient, type HttpClientOptions } from "./node-client.js";
import { NO_RESPONSE, type WireClient } from "./wire-client.js";

let server: Server;
let url: URL;
/** Requests that wait for their response. */
let held: { path: string; response: ServerResponse }[];
let sockets: Set<Socket>;
let most: number;
let clients: WireClient[];
beforeEach(async () => {
  [held, sockets, most, clients] = [[], new Set(), 0, []];
  server = createServer((request, response) => {
    held.push({ path: request.url ?? "", response });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
afterEach(async () => {
  for (const client of clients) await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function open(options: HttpClientOptions): WireClient {
  const client = createHttpClient(options);
  clients.push(client);
  return client;
}
const get = (client: WireClient, path: string, more = {}) =>
  client.open({ url: new URL(path, url), method: "GET", headers: {}, ...more });
const read = async (client: WireClient, path: string) => (await client.fetch(new URL(path, url))).text();
const answer = (text = "fine") => held.shift()?.response.end(text);
const heldPaths = () => held.map(({ path }) => path);

it("opens no more sockets than allowed, and sends waiting requests in order", async () => {
  const client = open({ maxSockets: 3 });
  const paths = Array.from({ length: 40 }, (_, index) => `/${index}`);
  const seen: string[] = [];
  const reading = paths.map((path) => read(client, path));
  while (seen.length < paths.length) {
    await waitFor(() => held.length === Math.min(3, paths.length - seen.length));
    seen.push(held[0]!.path);
    answer();
  }
  expect(await Promise.all(reading)).toEqual(paths.map(() => "fine"));
  expect(seen).toEqual(paths);
  expect(most).toBe(3);
});

it("allows 256 sockets per origin by default", async () => {
  const client = open({});
  const reading = Array.from({ length: 300 }, () => read(client, "/"));
  const other = client.fetch(new URL(url.href.replace("127.0.0.1", "localhost")));
  await waitFor(() => held.length === 257);
  expect(sockets.size).toBe(257);
  for (let index = 0; index < 301; index += 1) {
    await waitFor(() => held.length > 0);
    answer();
  }
  await Promise.all([...reading, other]);
  expect(most).toBe(257);
});

it("a waiting request that is aborted counts as unsent, and is never sent", async () => {
  const client = open({ maxSockets: 1 });
  const first = read(client, "/first");
  await waitFor(() => held.length === 1);
  const timedOut = new AbortController();
  const onSent = vi.fn();
  const second = get(client, "/second", { signal: timedOut.signal, onSent });
  const signal = AbortSignal.abort(new Error("not wanted"));
  await expect(get(client, "/third", { signal })).rejects.toThrow("not wanted");
  const controller = new AbortController();
  const fourth = get(client, "/fourth", { signal: controller.signal });
  const fifth = read(client, "/fifth");
  controller.abort(new Error("gave up"));
  await expect(fourth).rejects.toThrow("gave up");
  timedOut.abort(NO_RESPONSE);
  expect(onSent).not.toHaveBeenCalled();
  await expect(second).rejects.toBe(NO_RESPONSE);
  answer("one");
  expect(await first).toBe("one");
  await waitFor(() => held.length === 1);
  expect(heldPaths()).toEqual(["/fifth"]);
  answer("five");
  expect(await fifth).toBe("five");
});

it("a sent request that is aborted does not count as unsent", async () => {
  const controller = new AbortController();
  const onSent = vi.fn();
  const sent = get(open({ maxSockets: 1 }), "/", { signal: controller.signal, onSent });
  await waitFor(() => held.length === 1);
  controller.abort(NO_RESPONSE);
  expect(onSent).toHaveBeenCalledOnce();
  await expect(sent).rejects.toBe(NO_RESPONSE);
});

it("control messages and background streams do not wait", async () => {
  const client = open({ maxSockets: 1 });
  const calls = [read(client, "/call"), read(client, "/call")];
  await waitFor(() => held.length === 1);
  const free = [get(client, "/control", { isControl: true }), get(client, "/stream", { background: true })];
  await waitFor(() => held.length === 3);
  expect(heldPaths().sort()).toEqual(["/call", "/control", "/stream"]);
  while (held.length > 0) answer();
  for (const one of await Promise.all(free)) one.body.cancel();
  await waitFor(() => held.length === 1);
  answer();
  await Promise.all(calls);
});

it.each<[string, (response: ServerResponse) => unknown]>([
  ["a connection that breaks", (response) => response.socket?.destroy()],
  ["a response that breaks", (response) => response.write("x", () => response.socket?.destroy())],
  [
    "a switch of protocols",
    (response) =>
      response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
  ],
])("%s frees its slot", async (_title, end) => {
  const client = open({ maxSockets: 1 });
  const first = read(client, "/first").catch((error: unknown) => error);
  const second = read(client, "/second");
  await waitFor(() => held.length === 1);
  end(held.shift()!.response);
  await first;
  await waitFor(() => heldPaths().includes("/second"));
  answer("second");
  expect(await second).toBe("second");
});

it("a request that cannot be sent frees its slot", async () => {
  const client = open({ maxSockets: 1 });
  const bad = get(client, "/", { headers: { "x-key": "a\nb" } });
  await expect(bad).rejects.toMatchObject({ outcome: "unsent" });
  const dead = createHttpClient({ maxSockets: 1 });
  clients.push(dead);
  const gone = Array.from({ length: 5 }, () => dead.fetch("http://127.0.0.1:9/"));
  for (const one of gone)
    await expect(one).rejects.toMatchObject({ errno: "ECONNREFUSED", outcome: "unsent" });
  const next = read(client, "/");
  await waitFor(() => held.length === 1);
  answer();
  expect(await next).toBe("fine");
});

it("a response whose body is not read holds its slot until it is cancelled", async () => {
  const client = open({ maxSockets: 1 });
  const first = get(client, "/first");
  await waitFor(() => held.length === 1);
  held.shift()!.response.write("begins");
  const { body } = await first;
  const second = read(client, "/second");
  body.cancel();
  await waitFor(() => heldPaths().includes("/second"));
  answer("second");
  expect(await second).toBe("second");
});

it("closing the client rejects waiting requests", async () => {
  const client = open({ maxSockets: 1 });
  const reading = ["/a", "/b", "/c"].map((path) => read(client, path).catch((error: unknown) => error));
  await waitFor(() => held.length === 1);
  await client.close();
  const [sent, ...waiting] = await Promise.all(reading);
  expect(sent).toMatchObject({ code: "CLOSED", outcome: "unknown" });
  for (const error of waiting) expect(error).toMatchObject({ code: "CLOSED", outcome: "unsent" });
  expect(sockets.size).toBeLessThanOrEqual(1);
});
