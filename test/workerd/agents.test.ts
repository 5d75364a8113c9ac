/** The whole agents API in workerd, with and without `nodejs_compat`: requests, RPC, logins, restarts, and every kind of wake-up. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn, refuseLogin } from "../support/oauth-browser.js";
import { waitFor } from "../support/wait-for.js";
import {
  createWorkerProject,
  type RunningWorker,
  runWorker,
  type WorkerProject,
} from "../support/workerd.js";

let project: WorkerProject;
let script: string;
let server: TestServer;
let bench: OAuthBench;
const urls = { legacy: "", modern: "" };

beforeAll(async () => {
  project = await createWorkerProject(["ai"]);
  const { text, warnings } = await project.bundle();
  expect(warnings).toEqual([]);
  script = text;
  server = createTestServer({
    tools: {
      forecast: {
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        handler: ({ city }) => `fog in ${city}`,
      },
    },
  });
  for (const era of ["legacy", "modern"] as const) urls[era] = (await server.http({ era })).url;
  bench = await startOAuthBench();
});

afterAll(async () => {
  await server?.close();
  await bench?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

describe.each([
  ["without nodejs_compat", []],
  ["with nodejs_compat", ["nodejs_compat"]],
])("%s", (_title, flags) => {
  let storage: string;
  let worker: RunningWorker;
  beforeAll(async () => {
    storage = await mkdtemp(join(tmpdir(), "toolport-objects-"));
    worker = await runWorker({ script, folder: storage, flags });
  });
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]();
    await rm(storage, { recursive: true, force: true });
  });

  const weather = { servers: ["Weather"], tools: ["forecast"] };

  it.each(["legacy", "modern"] as const)("connects to a server of the %s era by RPC", async (era) => {
    const added = await worker.rpc(era, "add", "Weather", urls[era]);
    expect(added).toMatchObject({ state: "ready" });
    expect(await worker.rpc(era, "snapshot")).toMatchObject({ eras: [era] });
    expect(await worker.rpc(era, "aiTools")).toEqual([`${(added as { id: string }).id}__forecast`]);
    expect(await worker.rpc(era, "call", "forecast", { city: "Oslo" })).toBe("fog in Oslo");
    await expect(worker.rpc(era, "call", "forecast", {})).rejects.toThrow("INVALID_ARGUMENTS");
  });

  it("handles requests, also in an agent that is not a Durable Object", async () => {
    const answer = await worker.fetch(`http://localhost/agents/my-agent/asked/x?server=${urls.modern}`);
    expect(await answer.json()).toMatchObject({ state: "ready" });
    const mixed = await worker.fetch(`http://localhost/mixed/x?server=${urls.legacy}`);
    expect(await mixed.text()).toBe("ready x a");
    const alone = await worker.fetch(`http://localhost/alone?server=${urls.modern}`);
    expect(await alone.json()).toEqual({ servers: ["Alone"], tools: ["forecast"] });
  });

  it("restores its servers and tools when RPC wakes it up", async () => {
    await worker.rpc("rpc", "add", "Weather", urls.modern);
    await worker.mixed("rpc", "add", "Weather", urls.legacy);
    await worker.evict("rpc");
    await worker.evict("rpc", "Mixed");
    expect(await worker.rpc("rpc", "seen")).toEqual(weather);
    expect(await worker.rpc("rpc", "starts")).toBe(1);
    expect(await worker.mixed("rpc", "seen")).toEqual(weather);
    await worker.evict("rpc");
    expect(await worker.rpc("rpc", "aiTools")).toHaveLength(1);
    await worker.evict("rpc");
    expect(await worker.rpc("rpc", "call", "forecast", { city: "Rome" })).toBe("fog in Rome");
  });

  it("restores them when an alarm wakes it up", async () => {
    await worker.rpc("alarm", "add", "Weather", urls.modern);
    const instance = await worker.rpc("alarm", "wakeLater");
    await worker.evict("alarm");
    // A request to the object would wake it up.
    await waitFor(() => worker.logged.includes("alarm"));
    const seen = (await worker.rpc("alarm", "seenByAlarm")) as { instance: string };
    expect(seen).toEqual({ ...weather, instance: expect.any(String) });
    expect(seen.instance).not.toBe(instance);
  });

  it("restores them when a WebSocket message wakes it up", async () => {
    await worker.rpc("socket", "add", "Weather", urls.modern);
    const upgrade = { headers: { upgrade: "websocket" } };
    const { webSocket } = await worker.fetch("http://localhost/agents/my-agent/socket/ws", upgrade);
    const answers: unknown[] = [];
    webSocket?.addEventListener("message", ({ data }) => answers.push(JSON.parse(data)));
    webSocket?.accept();
    await worker.evict("socket");
    webSocket?.send("what is there?");
    await waitFor(() => answers.length > 0);
    expect(answers).toEqual([{ ...weather, starts: 1 }]);
    webSocket?.close();
  });

  it("offers a new login after a refused one, and stores nothing of a removed server", async () => {
    const name = `refused-${flags.length}`;
    const { authUrl } = (await worker.rpc(name, "add", "Protected", bench.url, "localhost:8787")) as {
      authUrl: string;
    };
    await worker.evict(name);
    const back = await refuseLogin(authUrl);
    expect((await worker.fetch(back.href)).status).toBe(400);
    const next = (await worker.rpc(name, "authUrl")) as string;
    expect(next).not.toBe(authUrl);
    expect((await worker.fetch((await logIn(next, name)).href)).status).toBe(200);
    expect(await worker.rpc(name, "reconnect")).toBe("connected");
    expect(await worker.rpc(name, "records")).not.toEqual([]);
    await worker.rpc(name, "remove");
    expect(await worker.rpc(name, "records")).toEqual([]);
  });

  it("restores servers, tools and logins after a restart of the process", async () => {
    const name = `login-${flags.length}`;
    const { authUrl } = (await worker.rpc(name, "add", "Protected", bench.url, "localhost:8787")) as {
      authUrl: string;
    };
    const back = await logIn(authUrl, name);
    expect(back.pathname).toBe(`/agents/my-agent/${name}/callback`);
    await worker.restart();
    expect((await worker.fetch(back.href)).status).toBe(200);
    await waitFor(async () => (await worker.rpc(name, "reconnect")) === "connected");
    const { tools } = (await worker.rpc(name, "seen")) as { tools: string[] };
    expect(tools.length).toBeGreaterThan(0);
    const requests = bench.tokenRequests.length;
    await worker.restart();
    expect(await worker.rpc(name, "seen")).toEqual({ servers: ["Protected"], tools });
    expect(await worker.rpc(name, "reconnect")).toBe("connected");
    expect(bench.tokenRequests.length).toBe(requests);
  });
});
