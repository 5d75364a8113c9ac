/** A legacy client gets neither tasks nor messages of a server that is hidden from its user. */
import { createLinkedTransports } from "toolport";
import { type GatewayOptions, type Policy, readPolicy } from "toolport/serve";
import { expect, onTestFinished, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { post, type RpcMessage, readMessages, VERSIONS } from "./raw-client.js";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
}

const TASK = { taskId: "t1", status: "completed", createdAt: "2026-08-01T10:00:00Z", ttl: 60_000 };

/** A server whose tool begins a task, and that can send messages at any time. */
function startServer(name: string) {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: VERSIONS.legacy,
      capabilities: { tools: {}, logging: {}, tasks: { list: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name, version: "1" },
    },
    "logging/setLevel": {},
    "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
    "tools/call": { task: TASK },
    "tasks/get": { ...TASK, statusMessage: `task of ${name}` },
    "tasks/result": { content: [{ type: "text", text: `result of ${name}` }] },
  };
  const ends: ((message: object) => void)[] = [];
  const transport = async () => {
    const [client, end] = createLinkedTransports();
    ends.push((message) => void end.send(message as never));
    end.onmessage = (message) => {
      const { id, method = "" } = message as Message;
      const result = results[method];
      const answer = result === undefined ? { error: { code: -32601, message: "?" } } : { result };
      if (id !== undefined) void end.send({ jsonrpc: "2.0", id, ...answer } as never);
    };
    await end.start();
    return client;
  };
  return {
    entry: { transport, protocol: "legacy" as const },
    notify: (method: string, params: object) => {
      for (const send of ends) send({ jsonrpc: "2.0", method, params });
    },
  };
}

async function open(options: Partial<GatewayOptions>) {
  const [shop, vault] = [startServer("shop"), startServer("vault")];
  const scene = await openGateway({ mcpServers: { shop: shop.entry, vault: vault.entry } }, {
    auth: false,
    ...options,
  } as GatewayOptions);
  onTestFinished(() => scene[Symbol.asyncDispose]());
  const hello = {
    protocolVersion: VERSIONS.legacy,
    capabilities: {},
    clientInfo: { name: "c", version: "1" },
  };
  let id = 0;
  let session: Record<string, string> = {};
  const send = (method: string, params: object = {}) => {
    id += 1;
    return post(scene.url, { jsonrpc: "2.0", id, method, params }, { headers: session });
  };
  const { headers } = await send("initialize", hello);
  session = { "mcp-session-id": headers.get("mcp-session-id")! };
  // Connects the servers.
  await send("tools/list");
  const begin = async (server: string): Promise<string> => {
    const params = { name: `${server}__work`, arguments: {}, task: { ttl: 60_000 } };
    return (await send("tools/call", params)).last.result.task.taskId;
  };
  return { shop, vault, scene, send, session, begin };
}

/** Hides `vault` as soon as `hide` is called. */
const HIDING: [string, () => Promise<{ options: Partial<GatewayOptions>; hide(): void }>][] = [
  [
    "`servers`",
    async () => {
      let servers = ["shop", "vault"];
      return {
        options: { servers: () => servers },
        hide() {
          servers = ["shop"];
        },
      };
    },
  ],
  [
    "the policy",
    async () => {
      const hiding = await readPolicy({ default: "allow", rules: [{ effect: "deny", server: "vault" }] });
      let rules = await readPolicy({ default: "allow", rules: [] });
      const policy: Policy = {
        decide: (request) => rules.decide(request),
        decideAll: (requests) => rules.decideAll(requests),
        onChange: () => () => {},
        close() {},
      };
      return {
        options: { policy },
        hide() {
          rules = hiding;
        },
      };
    },
  ],
];

test.each(HIDING)("tasks, hidden by %s", async (_title, prepare) => {
  const { options, hide } = await prepare();
  const { send, begin } = await open(options);
  const taskId = await begin("vault");
  await begin("shop");
  const list = async () => (await send("tasks/list")).last.result.tasks;
  const ask = async () => (await send("tasks/result", { taskId })).last;
  expect(await list()).toMatchObject([{ statusMessage: "task of vault" }, { statusMessage: "task of shop" }]);
  expect((await ask()).result).toMatchObject({ content: [{ text: "result of vault" }] });
  hide();
  expect(await list()).toMatchObject([{ statusMessage: "task of shop" }]);
  expect((await ask()).error?.message).toContain("Unknown task");
});

test.each(HIDING)("log messages and news of tasks, hidden by %s", async (_title, prepare) => {
  const { options, hide } = await prepare();
  const { shop, vault, scene, session, begin } = await open(options);
  for (const server of ["vault", "shop"]) await begin(server);
  hide();
  const stop = new AbortController();
  const seen: RpcMessage[] = [];
  const stream = await fetch(scene.url, {
    headers: { accept: "text/event-stream", ...session },
    signal: stop.signal,
  });
  let arrived = () => {};
  const both = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const reading = readMessages(stream, (message) => {
    seen.push(message);
    if (JSON.stringify(message).includes("shop task")) arrived();
  }).catch(() => {});
  for (const [name, server] of Object.entries({ vault, shop })) {
    server.notify("notifications/message", { level: "error", data: `${name} log` });
    server.notify("notifications/tasks/status", { ...TASK, statusMessage: `${name} task` });
  }
  await both;
  stop.abort();
  await reading;
  const text = JSON.stringify(seen);
  expect(text).toContain("shop log");
  expect(text).not.toContain("vault");
});
