import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type NameProxy, startNameProxy } from "../../../../test/support/name-proxy.js";
import { waitFor } from "../../../../test/support/wait-for.js";
import { createHttpClient } from "../node-client.js";
import { NO_RESPONSE, type WireRequest } from "../wire-client.js";
import { openTunnel, ProxyServer } from "./proxy-routes.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A proxy whose behaviour the test sets; counts its open connections. */
async function startRaw(onData: (socket: Socket, head: string) => void) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.once("data", (data) => onData(socket, String(data)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

const target = { hostname: "a.example", port: 443, timeoutMs: 5_000 };
const get = (more: Partial<WireRequest> = {}): WireRequest => ({
  url: new URL("https://a.example/mcp"),
  method: "GET",
  headers: { authorization: "Bearer for-the-server" },
  ...more,
});
const open = (url: string, more = {}) => {
  const client = createHttpClient({ proxy: url, ...more });
  closing.push(() => client.close());
  return client;
};

describe("what the proxy is sent", () => {
  it("the target, credentials and a User-Agent, and nothing from the request", async () => {
    let head = "";
    const { url } = await startRaw((socket, data) => {
      head = data;
      socket.end("HTTP/1.1 503 Busy\r\n\r\n");
    });
    const error = open(url.replace("//", "//ada:pw@")).open(get());
    await expect(error).rejects.toMatchObject({ status: 503, outcome: "unsent", retryable: true });
    expect(head).toMatch(/^CONNECT a\.example:443 HTTP\/1\.1\r\n/);
    expect(head).toMatch(/^proxy-authorization: Basic YWRhOnB3\r$/im);
    expect(head).toMatch(/^user-agent: toolport\/\d/im);
    expect(head).not.toMatch(/^authorization:/im);
    expect(head).not.toContain("mcp");
  });

  it("an IPv6 target in brackets", async () => {
    let head = "";
    const { url } = await startRaw((socket, data) => {
      head = data;
      socket.end("HTTP/1.1 403 No\r\n\r\n");
    });
    await open(url)
      .open(get({ url: new URL("https://[2001:db8::1]:8443/") }))
      .catch(() => {});
    expect(head).toMatch(/^CONNECT \[2001:db8::1\]:8443 /);
  });

  it("for plain HTTP the absolute URL; the server's response is returned", async () => {
    let head = "";
    const { url } = await startRaw((socket, data) => {
      head = data;
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine");
    });
    const client = open(url.replace("//", "//ada:pw@"));
    const answer = await client.fetch("http://a.example:81/mcp?x=1#y");
    expect(await answer.text()).toBe("fine");
    expect(head).toMatch(/^GET http:\/\/a\.example:81\/mcp\?x=1 HTTP\/1\.1\r\nhost: a\.example:81\r\n/);
    expect(head).toMatch(/^proxy-authorization: Basic YWRhOnB3\r$/im);
    expect(head).toMatch(/^connection: close\r$/im);
  });
});

describe("proxies that misbehave", () => {
  it.each<[string, (socket: Socket) => void, object]>([
    ["hangs up", (socket) => socket.destroy(), { code: "UNREACHABLE", errno: "ECONNRESET" }],
    ["is not a proxy", (socket) => socket.end("SSH-2.0-x\r\n"), { code: "UNREACHABLE" }],
    [
      "sends data before the tunnel is used",
      (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nhello"),
      { code: "BAD_RESPONSE" },
    ],
    ["redirects", (socket) => socket.end("HTTP/1.1 302 F\r\nlocation: http://x/\r\n\r\n"), { status: 302 }],
    [
      "does not speak TLS after its response",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.once("data", () => socket.end("nonsense"));
      },
      { code: "UNREACHABLE" },
    ],
  ])(
    "%s: a typed error that names the proxy, nothing sent, no socket left",
    async (_title, onData, expected) => {
      const { url, sockets } = await startRaw(onData);
      const failed = open(url).open(get());
      await expect(failed).rejects.toMatchObject({ outcome: "unsent", ...expected });
      await expect(failed).rejects.toThrow(new URL(url).host);
      await waitFor(() => sockets.size === 0);
    },
  );

  it("does not respond: the connect timeout applies", async () => {
    const { url, sockets } = await startRaw(() => {});
    const failed = open(url, { connectTimeoutMs: 50 }).open(get());
    await expect(failed).rejects.toMatchObject({ errno: "ETIMEDOUT", outcome: "unsent", retryable: true });
    await expect(failed).rejects.toThrow(/did not open a connection to a\.example:443 in 50 ms/);
    await waitFor(() => sockets.size === 0);
  });
});

describe("giving up", () => {
  it("ends a tunnel that is being opened, and the request counts as unsent", async () => {
    const { url, sockets } = await startRaw(() => {});
    const controller = new AbortController();
    const onSent = vi.fn();
    const waiting = open(url).open(get({ signal: controller.signal, onSent }));
    await waitFor(() => sockets.size === 1);
    controller.abort(NO_RESPONSE);
    expect(onSent).not.toHaveBeenCalled();
    await expect(waiting).rejects.toBe(NO_RESPONSE);
    await waitFor(() => sockets.size === 0);
  });

  it("through its signal, before and while the tunnel opens", async () => {
    const { url, sockets } = await startRaw(() => {});
    const proxy = new ProxyServer(url, "proxy");
    const reason = new Error("enough");
    await expect(openTunnel(proxy, { ...target, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const opening = openTunnel(proxy, { ...target, signal: controller.signal });
    await waitFor(() => sockets.size > 0);
    controller.abort(reason);
    await expect(opening).rejects.toBe(reason);
    await waitFor(() => sockets.size === 0);
  });

  it("closing the client aborts tunnels that are being opened", async () => {
    const { url, sockets } = await startRaw(() => {});
    const client = open(url);
    const waiting = client.open(get()).catch((error: unknown) => error);
    await waitFor(() => sockets.size === 1);
    await client.close();
    expect(await waiting).toMatchObject({ code: "CLOSED", outcome: "unsent" });
    await waitFor(() => sockets.size === 0);
  });
});

describe("the socket limit", () => {
  it("applies to tunnels, and a refused one frees its slot", async () => {
    let most = 0;
    let count = 0;
    const { url, sockets } = await startRaw((socket) => {
      most = Math.max(most, sockets.size);
      count += 1;
      socket.end("HTTP/1.1 503 Busy\r\n\r\n");
    });
    const client = open(url, { maxSockets: 2 });
    const all = Array.from({ length: 10 }, () => client.open(get()).catch((error: Error) => error));
    for (const error of await Promise.all(all)) expect(error).toMatchObject({ status: 503 });
    expect(count).toBe(10);
    // One socket of the last request may still be closing.
    expect(most).toBeLessThanOrEqual(4);
  });
});

describe("a name that only the proxy can resolve", () => {
  it("is reached through the proxy from the environment", async () => {
    await using proxy: NameProxy = await startNameProxy();
    const server = (await import("node:http")).createServer((_request, response) => response.end("fine"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const client = open(proxy.url);
    expect(await (await client.fetch(`http://mcp.invalid:${port}/`)).text()).toBe("fine");
    expect(proxy.seen).toMatchObject([{ method: "GET", target: `http://mcp.invalid:${port}/` }]);
  });
});
