/** Servers behind a real proxy (tinyproxy): every transport, logins, credentials, refusals. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ConnectionError, createToolport, type ServerEntry, type ToolportOptions } from "toolport";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startPeer } from "../contract/contract-peer.js";
import { type FaultHttpServer, startFaultServer } from "../fixtures/servers/fault-http.js";
import { startFaultWebSocket } from "../fixtures/servers/fault-websocket.js";
import { hasOpenssl, makeCertificates } from "../support/certificates.js";
import { useProxyVariables } from "../support/environment.js";
import { failure } from "../support/failure.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { installRebindingResolver, REBINDING_HOST } from "../support/oauth-hostile-addresses.js";
import { startHostileServer } from "../support/oauth-hostile-server.js";
import { startTinyproxy, type Tinyproxy, withoutTinyproxy } from "../support/tinyproxy-service.js";
import { startTlsFront } from "../support/tls-front.js";
import { useServer } from "../support/use-server.js";

const HOST = fileURLToPath(new URL("../fixtures/hosts/tls-host.mjs", import.meta.url));
const execute = promisify(execFile);

if (withoutTinyproxy) console.warn("Skipped: servers behind a proxy. tinyproxy was not found.");

const PASSWORD = "proxy-canary-51c2";

/** An address of this machine that is not loopback: the variables apply only to such targets. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === "IPv4" && !found.internal)?.address;

const open = (entry: ServerEntry, options: ToolportOptions = {}) =>
  createToolport({ mcpServers: { it: entry }, ...options });

const setVariables = useProxyVariables();

describe.skipIf(withoutTinyproxy)("through tinyproxy", () => {
  let plain: Tinyproxy;
  let closed: Tinyproxy;
  let server: FaultHttpServer;
  beforeAll(async () => {
    [plain, closed, server] = await Promise.all([
      startTinyproxy({ refuses: ["^refused\\.invalid$", "^127\\.0\\.0\\.7$"] }),
      startTinyproxy({ credentials: { user: "ada", password: PASSWORD } }),
      startFaultServer(),
    ]);
  });
  afterAll(async () => {
    await Promise.all([plain, closed].map((proxy) => proxy?.[Symbol.asyncDispose]()));
    await server?.close();
  });
  /** Requests that the open proxy saw since the test began. */
  let before = 0;
  const requests = () => plain.requests().slice(before);
  beforeEach(() => {
    before = plain.requests().length;
  });

  it("plain HTTP is sent with the whole URL", async () => {
    await using toolport = open({ ...server.entry, proxy: plain.url });
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    expect(requests()).toContain(`POST ${server.entry.url} HTTP/1.1`);
  });

  it("legacy HTTP+SSE", async () => {
    const peer = await startPeer("sdk-sse");
    try {
      const url = `http://127.0.0.1:${peer.port}/sse`;
      await using toolport = open({ transport: "sse", url }, { proxy: plain.url });
      expect((await toolport.connect()).servers["it"]).toMatchObject({ state: "ready" });
      expect(requests()).toContain(`GET ${url} HTTP/1.1`);
    } finally {
      await peer.stop();
    }
  });

  it("a WebSocket goes through a tunnel", async () => {
    const socket = await startFaultWebSocket(() => {});
    try {
      await using toolport = open({ ...socket.entry, proxy: plain.url });
      expect((await toolport.callTool("it__fine")).text).toBe("fine");
      expect(requests()).toEqual([`CONNECT ${new URL(socket.entry.url).host} HTTP/1.1`]);
    } finally {
      await socket.close();
    }
  });

  it("a login, with the proxy on a private address", async () => {
    await using bench = await startOAuthBench();
    await using toolport = open({ url: bench.url, proxy: plain.url }, { callbackUrl: CALLBACK_URL });
    const { authUrl } = (await toolport.connect()).servers["it"]!;
    await toolport.finishAuth("it", (await logIn(new URL(authUrl as string))).searchParams);
    expect((await toolport.callTool("it__whoami")).text).toBe("ada");
    const paths = requests().map((line) => `${line.split(" ")[0]} ${new URL(line.split(" ")[1]!).pathname}`);
    expect(paths).toEqual(expect.arrayContaining(["POST /reg", "POST /token", "POST /mcp"]));
  });

  it("a callback request finishes a login through the proxy of the server's entry", async () => {
    await using bench = await startOAuthBench();
    await using toolport = open({ url: bench.url, proxy: plain.url }, { callbackUrl: CALLBACK_URL });
    const { authUrl } = (await toolport.connect()).servers["it"]!;
    const back = await logIn(new URL(authUrl as string));
    expect((await toolport.handleOAuthCallback(new Request(back))).status).toBe(200);
    expect(requests().some((line) => /^POST \S+\/token /.test(line))).toBe(true);
  });

  describe("credentials", () => {
    const withUser = (user: string) => closed.url.replace("http://", `http://${user}@`);

    it("are sent to the proxy only", async () => {
      await using toolport = open({ ...server.entry, proxy: withUser(`ada:${PASSWORD}`) });
      const sent = server.seen.length;
      expect((await toolport.callTool("it__fine")).text).toBe("fine");
      expect(JSON.stringify(server.seen.slice(sent))).not.toMatch(/proxy-authorization|canary|YWRhO/i);
    });

    it.each([
      ["none", "", /Add a user name/],
      ["wrong ones", "ada:wrong", /Check the user name/],
    ])("%s: the error names the proxy, and nothing was sent", async (_title, user, next) => {
      const proxy = user === "" ? closed.url : withUser(user);
      const calls = server.seen.length;
      const websocket = { transport: "websocket", url: server.entry.url.replace("http", "ws") } as const;
      // To a plain request with wrong credentials tinyproxy answers 401, as a server would.
      const entries = user === "" ? [server.entry, websocket] : [websocket];
      for (const entry of entries) {
        await using toolport = open({ ...entry, proxy });
        const error = (await failure(toolport.callTool("it__fine"))) as ConnectionError;
        const status = user === "" ? 407 : 401;
        expect(error).toMatchObject({ code: "UNREACHABLE", status, outcome: "unsent", retryable: false });
        expect(error.what).toContain(closed.host);
        expect(error.next).toMatch(next);
        expect(JSON.stringify([error.message, error])).not.toContain("wrong");
      }
      expect(server.seen.length).toBe(calls);
    });
  });

  describe.skipIf(!hasOpenssl())("TLS through the tunnel, with a private authority", () => {
    const folder = mkdtempSync(join(tmpdir(), "toolport-proxy-"));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it("all transports work if Node trusts the authority, otherwise the error names the proxy", async () => {
      const { good, authorityFile } = makeCertificates(folder);
      const socket = await startFaultWebSocket(() => {});
      const fronts = await Promise.all(
        [server.entry.url, socket.entry.url].map((url) => startTlsFront(good, Number(new URL(url).port))),
      );
      const [http, ws] = fronts.map(({ port }) => `127.0.0.1:${port}`);
      const proxy = plain.url;
      const mcpServers = {
        http: { url: `https://${http}/mcp`, proxy },
        ws: { transport: "websocket", url: `wss://${ws}/ws`, proxy },
      };
      const run = async (env: Record<string, string>) =>
        JSON.parse((await execute(process.execPath, [HOST, JSON.stringify(mcpServers)], { env })).stdout);
      const fine = { text: "fine" };
      expect(await run({ NODE_EXTRA_CA_CERTS: authorityFile })).toEqual({ http: fine, ws: fine });
      expect(new Set(requests())).toEqual(new Set([http, ws].map((host) => `CONNECT ${host} HTTP/1.1`)));
      const refused = {
        code: "UNREACHABLE",
        errno: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        retryable: false,
        message: expect.stringContaining(`through the proxy ${plain.host}`),
      };
      expect(await run({})).toEqual({ http: refused, ws: refused });
      await Promise.all([...fronts.map((front) => front.close()), socket.close()]);
    });
  });

  it("the error names a proxy that refuses CONNECT", async () => {
    for (const [transport, url] of [
      ["http", "https://refused.invalid/mcp"],
      ["websocket", "wss://refused.invalid/ws"],
    ] as const) {
      await using toolport = open({ transport, url, proxy: plain.url } as ServerEntry);
      const error = await failure(toolport.callTool("it__fine"));
      expect(error).toMatchObject({ code: "UNREACHABLE", status: 403, outcome: "unsent", retryable: false });
      expect(error.message).toContain(`The proxy ${plain.host} (set by proxy) refused`);
    }
  });

  it("the error names an unreachable proxy", async () => {
    const plainWs = { transport: "websocket", url: server.entry.url.replace("http", "ws") } as const;
    for (const entry of [server.entry, { url: "https://a.invalid/mcp" }, plainWs]) {
      await using toolport = open({ ...entry, proxy: "http://ada:hush@127.0.0.1:9" });
      const error = await failure(toolport.callTool("it__fine"));
      expect(error).toMatchObject({ code: "UNREACHABLE", errno: "ECONNREFUSED", outcome: "unsent" });
      expect(error.message).toContain("The proxy 127.0.0.1:9 (set by proxy) cannot be reached");
      expect(JSON.stringify([error, error.message])).not.toContain("hush");
    }
  });

  describe("URLs learned from the network are checked before CONNECT", () => {
    const logInTo = async (issuer: string) => {
      await using hostile = await startHostileServer("127.0.0.3");
      hostile.lies = { authorizationServers: [issuer] };
      const entry = { url: hostile.url, proxy: plain.url };
      await using toolport = open(entry, { callbackUrl: CALLBACK_URL });
      return (await toolport.connect()).servers["it"]!.error;
    };
    const connects = () => requests().filter((line) => line.startsWith("CONNECT"));

    it.each(["https://169.254.169.254", "https://10.1.2.3", "https://[::1]", "https://printer.local"])(
      "%s is refused",
      async (issuer) => {
        expect(await logInTo(issuer)).toMatchObject({ code: "ADDRESS_REFUSED", outcome: "unsent" });
        expect(connects()).toEqual([]);
      },
    );

    it("a name that resolves here to a private address is refused", async () => {
      using resolver = installRebindingResolver();
      resolver.answer(["10.0.0.5"]);
      expect(await logInTo(`https://${REBINDING_HOST}`)).toMatchObject({ code: "ADDRESS_REFUSED" });
      expect(connects()).toEqual([]);
    });

    it("a name that does not resolve here is left to the proxy", async () => {
      const error = await logInTo("https://login.invalid");
      expect(connects()[0]).toBe("CONNECT login.invalid:443 HTTP/1.1");
      expect(error).not.toMatchObject({ code: "ADDRESS_REFUSED" });
    });
  });

  describe.skipIf(ownAddress === undefined)("by the environment", () => {
    const reachable = useServer(() => startFaultServer({ host: ownAddress }));
    const call = async (entry: ServerEntry = reachable.entry, options?: ToolportOptions) => {
      await using toolport = open(entry, options);
      return (await toolport.callTool("it__fine")).text;
    };

    it.each(["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])("%s is used", async (name) => {
      setVariables({ [name]: plain.url });
      expect(await call()).toBe("fine");
      expect(requests()).toContain(`POST ${reachable.entry.url} HTTP/1.1`);
    });

    it("also for WebSockets", async () => {
      setVariables({ HTTP_PROXY: plain.url });
      const url = reachable.entry.url.replace("http", "ws");
      await call({ transport: "websocket", url }).catch(() => {});
      expect(requests()).toContain(`CONNECT ${new URL(url).host} HTTP/1.1`);
    });

    it.each<[string, Record<string, string>]>([
      ["the address", { NO_PROXY: ownAddress ?? "" }],
      ["its network", { no_proxy: `${ownAddress}/24` }],
      ["everything", { NO_PROXY: "*" }],
      ["no variable for this scheme", { HTTP_PROXY: "", HTTPS_PROXY: "http://127.0.0.1:9" }],
    ])("not where NO_PROXY names %s", async (_title, variables) => {
      setVariables({ HTTP_PROXY: plain.url, ...variables });
      expect(await call()).toBe("fine");
      expect(requests()).toEqual([]);
    });

    it("not for a server or port with proxy: false", async () => {
      setVariables({ HTTP_PROXY: "http://127.0.0.1:9" });
      expect(await call({ ...reachable.entry, proxy: false })).toBe("fine");
      expect(await call(reachable.entry, { proxy: false })).toBe("fine");
      await expect(call({ ...reachable.entry, proxy: "env" }, { proxy: false })).rejects.toThrow(
        /HTTP_PROXY/,
      );
    });

    it("not for loopback targets", async () => {
      setVariables({ HTTP_PROXY: "http://127.0.0.1:9", ALL_PROXY: "http://127.0.0.1:9" });
      expect(await call(server.entry)).toBe("fine");
    });

    it("not with a custom fetch", async () => {
      setVariables({ HTTP_PROXY: "http://127.0.0.1:9" });
      expect(await call(reachable.entry, { fetch: globalThis.fetch })).toBe("fine");
    });

    it("a SOCKS proxy is an error that names the variable", async () => {
      setVariables({ ALL_PROXY: "socks5://ada:hush@127.0.0.1:9" });
      const error = await failure(call());
      expect(error).toMatchObject({ code: "INVALID_CONFIG", outcome: "unsent", retryable: false });
      expect(error.message).toMatch(/ALL_PROXY names a SOCKS proxy/);
      expect(error.message).not.toContain("hush");
    });
  });
});
