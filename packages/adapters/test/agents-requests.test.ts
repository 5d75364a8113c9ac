/** Requests to an agent: hosts, login callbacks, restarts, and agents that share a store. */
import { memoryStore } from "toolport";
import { Agent, McpClientManager, withMcp } from "toolport/agents";
import { createTestServer, type TestHttpServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openDurableObjectStorage } from "../../../test/contract/durable-object-storage.js";
import { failure } from "../../../test/support/failure.js";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { callbackUrl, toKebabCase } from "../src/agents/with-mcp.js";

const HOME = "http://localhost:8787";
let server: TestServer;
let http: TestHttpServer;
let bench: OAuthBench;
const agents: { mcp: McpClientManager }[] = [];

beforeAll(async () => {
  server = createTestServer({ tools: { forecast: { handler: () => "fog" } } });
  http = await server.http();
  bench = await startOAuthBench();
});
afterAll(async () => {
  await server.close();
  await bench[Symbol.asyncDispose]();
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map(({ mcp }) => mcp.close()));
});

function keep<Kept extends { mcp: McpClientManager }>(agent: Kept): Kept {
  agents.push(agent);
  return agent;
}

const redirectOf = (authUrl: string | undefined) => new URL(authUrl!).searchParams.get("redirect_uri");

/** A class without any MCP code. */
class Plain {
  readonly seen: string[] = [];
  readonly label: string;
  constructor(label: string) {
    this.label = label;
  }
  fetch(request: Request): Response | Promise<Response> {
    return this.onRequest(request);
  }
  onRequest(request: Request): Response | Promise<Response> {
    this.seen.push(new URL(request.url).pathname);
    return new Response(this.label);
  }
  static readonly kind = "plain";
}

describe("withMcp", () => {
  class HelpCenter extends withMcp(Plain) {
    override async onRequest(request: Request): Promise<Response> {
      await super.onRequest(request);
      return Response.json(await this.addMcpServer("Protected", bench.url));
    }
  }

  it("adds servers to any class and keeps its own members", async () => {
    const agent = keep(new HelpCenter("label"));
    expect([agent.label, HelpCenter.kind, agent instanceof Plain]).toEqual(["label", "plain", true]);
    expect(await agent.addMcpServer("Open", http.url)).toMatchObject({ state: "ready" });
    expect(Object.keys(agent.mcp.getAITools())).toHaveLength(1);
    expect(agent.getMcpServers().tools).toMatchObject([{ name: "forecast" }]);
  });

  it.each(["fetch", "onRequest"] as const)(
    "handles the login callback before %s of a subclass",
    async (entrance) => {
      const agent = keep(new HelpCenter("label"));
      const answer = await agent[entrance](new Request(`${HOME}/ask`));
      const { authUrl, id } = (await answer.json()) as { authUrl: string; id: string };
      expect(redirectOf(authUrl)).toBe(`${HOME}/agents/help-center/default/callback`);

      const page = await agent[entrance](new Request(await logIn(authUrl)));
      expect(page.status).toBe(200);
      expect(page.headers.get("content-type")).toContain("text/html");
      expect(page.headers.get("content-security-policy")).toBeTruthy();
      expect(agent.seen).toEqual(["/ask"]);
      await waitFor(() => agent.getMcpServers().servers[id]?.state === "ready");
      expect(await (await agent[entrance](new Request(`${HOME}/ask`))).json()).toEqual({
        id,
        state: "ready",
      });
      expect((await agent.mcp.toolport.callTool(`${id}__whoami`)).text).toBe("ada");
      await agent.removeMcpServer(id);
    },
  );

  it("also wraps methods that are own properties of the instance", async () => {
    class Own {
      seen = 0;
      fetch = async (_request: Request) => {
        this.seen += 1;
        return new Response("own");
      };
    }
    const own = keep(new (withMcp(Own))());
    expect(await (await own.fetch(new Request(`${HOME}/`))).text()).toBe("own");
    const forged = `${HOME}/agents/own/default/callback?code=1&state=2`;
    expect((await own.fetch(new Request(forged))).status).toBe(400);
    expect(own.seen).toBe(1);
  });

  it("takes the host from the current request, not from a concurrent one", async () => {
    const waiting = new Map<string, () => void>();
    class Slow extends withMcp(Plain) {
      override async onRequest(request: Request): Promise<Response> {
        const { host } = new URL(request.url);
        await new Promise<void>((resolve) => waiting.set(host, resolve));
        return Response.json(await this.addMcpServer(host, bench.url));
      }
    }
    const slow = keep(new Slow("slow"));
    const ask = async (origin: string) => (await slow.fetch(new Request(origin))).json();
    const answers = Promise.all([ask("https://a.example"), ask("http://b.example")]);
    await waitFor(() => waiting.size === 2);
    for (const go of [...waiting.values()].reverse()) go();
    const hosts = ((await answers) as { authUrl: string }[]).map(({ authUrl }) => redirectOf(authUrl));
    expect(hosts).toEqual([
      "https://a.example/agents/slow/default/callback",
      "https://b.example/agents/slow/default/callback",
    ]);
  });

  it("offers no login if it knows no host for the callback", async () => {
    const agent = keep(new HelpCenter("label"));
    expect(await failure(agent.addMcpServer("Protected", bench.url))).toMatchObject({
      code: "AUTH_REQUIRED",
    });
    const { authUrl } = await agent.addMcpServer("Protected", bench.url, "app.example.com", "/my/agents/");
    expect(redirectOf(authUrl)).toBe("https://app.example.com/my/agents/help-center/default/callback");
  });

  it("does not change a server with a token from the program", async () => {
    const agent = keep(new HelpCenter("label"));
    const transport = { headers: { Authorization: "Bearer wrong" } };
    const added = agent.addMcpServer("Protected", bench.url, HOME, undefined, { transport });
    expect(await failure(added)).toMatchObject({ name: "AuthError", authUrl: undefined });
  });
});

describe("an agent", () => {
  class MyAgent extends Agent<{ KEY: string }> {
    starts = 0;
    override onStart(): void {
      this.starts += 1;
      if (this.starts === 1) throw new Error("not yet");
    }
    override async onRequest(): Promise<Response> {
      return new Response(this.env?.KEY);
    }
  }

  it("starts once, and again only after a failure", async () => {
    const agent = keep(new MyAgent(undefined, { KEY: "k" }));
    const ask = () => agent.fetch(new Request(`${HOME}/`));
    await expect(ask()).rejects.toThrow("not yet");
    expect(await Promise.all([ask(), ask()].map(async (answer) => (await answer).text()))).toEqual([
      "k",
      "k",
    ]);
    expect(agent.starts).toBe(2);
  });

  it("uses the name of its Durable Object", async () => {
    const id = { name: "ada/1", toString: () => "0123" };
    const agent = keep(new Agent({ id }));
    expect(agent.name).toBe("ada/1");
    const { authUrl } = await agent.addMcpServer("Protected", bench.url, HOME);
    expect(redirectOf(authUrl)).toBe(`${HOME}/agents/agent/ada%2F1/callback`);
    const back = await agent.fetch(new Request(await logIn(authUrl!)));
    expect(back.status).toBe(200);
  });

  it("restores its servers, their names and tools in a Durable Object, without a new login", async () => {
    const { storage, close } = openDurableObjectStorage();
    const ctx = { id: { name: "ada", toString: () => "0123" }, storage };
    const first = new Agent(ctx);
    const open = await first.addMcpServer("Open", http.url);
    const login = await first.addMcpServer("Protected", bench.url, HOME);
    await first.mcp.close();

    // Hibernates between the login page and the callback.
    const second = new Agent(ctx);
    const answer = await second.fetch(new Request(await logIn(login.authUrl!)));
    expect(answer.status).toBe(200);
    expect(second.mcp.getAITools()).toHaveProperty(`${open.id}__forecast`);
    await waitFor(() =>
      Object.values(second.getMcpServers().servers).every(({ state }) => state === "ready"),
    );
    await second.mcp.close();

    const third = keep(new Agent(ctx));
    await third.mcp.restored;
    const { servers, tools } = third.getMcpServers();
    expect(
      Object.values(servers)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["Open", "Protected"]);
    expect(Object.values(servers).some(({ state }) => state === "ready")).toBe(false);
    expect(tools.map(({ name }) => name)).toContain("whoami");
    expect((await third.mcp.toolport.callTool(`${login.id}__whoami`)).text).toBe("ada");
    expect(await third.addMcpServer("Protected", bench.url)).toEqual({ id: login.id, state: "ready" });
    await third.removeMcpServer(login.id);
    const left = JSON.stringify(storage.sql.exec("SELECT * FROM toolport_records").toArray());
    expect(left).toContain(open.id);
    expect(left).not.toContain(login.id);
    expect(left).not.toContain("access");
    await third.mcp.close();
    close();
  });

  it("deletes the records of a removed server, and keeps those of another one at the same URL", async () => {
    const store = memoryStore();
    const mcp = new McpClientManager({ store, principal: "ada" });
    keep({ mcp });
    const legacy = await server.http({ era: "legacy" });
    const ids: string[] = [];
    for (const [name, url] of [
      ["Modern", http.url],
      ["Twin", http.url],
      ["Legacy", legacy.url],
    ] as const)
      ids.push((await mcp.addServer(name, url)).id);
    const login = await mcp.addServer("Protected", bench.url, { callbackUrl: `${HOME}/callback` });
    await mcp.handleCallbackRequest(new Request(await logIn(login.authUrl!)));
    await mcp.addServer("Protected", bench.url);
    const [modern, twin, old] = ids as [string, string, string];
    const kinds = async () => new Set((await store.list("")).map((key) => key.split("/")[0]));
    expect(await kinds()).toEqual(new Set(["agents", "catalog", "discover", "era", "oauth", "servers"]));
    for (const id of [modern, old, login.id]) await mcp.removeServer(id);
    expect(await kinds()).toEqual(new Set(["agents", "catalog", "discover", "era", "servers"]));
    expect(mcp.getMcpServers().tools).toHaveLength(1);
    await mcp.removeServer(twin);
    expect(await store.list("")).toEqual([]);
  });

  it("is authenticating after a restart if its login was revoked", async () => {
    const store = memoryStore();
    const first = new McpClientManager({ store });
    const callback = `${HOME}/callback`;
    const { id, authUrl } = await first.addServer("Protected", bench.url, { callbackUrl: callback });
    await first.handleCallbackRequest(new Request(await logIn(authUrl!, "grace")));
    expect(await first.addServer("Protected", bench.url)).toEqual({ id, state: "ready" });
    await first.close();
    bench.revokeGrants("grace");
    bench.expireAccessTokens();

    const second = keep({ mcp: new McpClientManager({ store }) }).mcp;
    const states: string[] = [];
    second.toolport.on("state", () => states.push(second.getMcpServers().servers[id]!.state));
    await waitFor(() => second.getMcpServers().servers[id]?.state === "authenticating");
    expect(states).not.toContain("ready");
    expect(redirectOf(second.getMcpServers().servers[id]!.auth_url!)).toBe(callback);
    expect(second.isCallbackRequest(new Request(`${callback}?state=1`))).toBe(true);
    expect(second.isCallbackRequest(new Request(`${HOME}/elsewhere`))).toBe(false);
  });

  it("is separate from other agents that share its store", async () => {
    const store = memoryStore();
    class Shared extends Agent {
      constructor(readonly user: string) {
        super();
      }
      override get name(): string {
        return this.user;
      }
      override mcpOptions() {
        return { store };
      }
    }
    const [ada, grace] = [keep(new Shared("ada")), keep(new Shared("grace"))];
    const { id, authUrl } = await ada.addMcpServer("Protected", bench.url, HOME);
    expect(redirectOf(authUrl)).toBe(`${HOME}/agents/shared/ada/callback`);
    expect(grace.getMcpServers().servers).toEqual({});
    const back = await logIn(authUrl!);
    // A login finishes at the agent that started it.
    expect((await grace.fetch(new Request(back.href.replace("/ada/", "/grace/")))).status).toBe(400);
    expect((await ada.fetch(new Request(back))).status).toBe(200);
    expect(await ada.addMcpServer("Protected", bench.url)).toEqual({ id, state: "ready" });
    expect(await grace.addMcpServer("Protected", bench.url, HOME)).toMatchObject({ state: "authenticating" });

    const again = keep(new Shared("ada"));
    await again.mcp.restored;
    expect(Object.keys(again.getMcpServers().servers)).toEqual([id]);
  });
});

describe("the callback URL", () => {
  it.each([
    ["app.example.com", "https://app.example.com/agents/my-agent/x/callback"],
    ["https://app.example.com/base/", "https://app.example.com/base/agents/my-agent/x/callback"],
    ["localhost:8787", "http://localhost:8787/agents/my-agent/x/callback"],
    ["127.0.0.1", "http://127.0.0.1/agents/my-agent/x/callback"],
    ["localhost.example.com", "https://localhost.example.com/agents/my-agent/x/callback"],
  ])("%s", (host, expected) => {
    expect(callbackUrl({ host, prefix: "agents", agent: "MyAgent", name: "x" })).toBe(expected);
  });

  it.each([
    ["MyAgent", "my-agent"],
    ["RPG", "rpg"],
    ["MY_AGENT", "my-agent"],
    ["myAgent_", "my-agent"],
  ])("writes %s as Cloudflare does", (name, expected) => {
    expect(toKebabCase(name)).toBe(expected);
  });
});
