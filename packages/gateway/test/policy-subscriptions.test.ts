/** The policy decides about subscriptions as it does about reading: when they begin, at every update, and after new rules. */
import { EventEmitter, once } from "node:events";
import { memoryStore, type Store } from "toolport";
import { type AuditEvent, type Policy, type PolicyDocument, readPolicy } from "toolport/serve";
import { describe, expect, test } from "vitest";
import { type GatewayScene, openGateway } from "./gateway-scene.js";
import { ACCEPT, type Fields, META, post, type RpcMessage, readMessages, VERSIONS } from "./raw-client.js";
import { type CountingServer, countingServer } from "./support/counting-server.js";

const OPEN = "test://open";
const SECRET = "test://secret";
const ALL: PolicyDocument = { default: "allow", rules: [] };
const HIDDEN: PolicyDocument = {
  default: "allow",
  rules: [{ effect: "deny", resource: ["*secret*"], reason: "Not for you" }],
};

const library = () =>
  countingServer({
    era: "legacy",
    tools: {
      touch: {
        async handler(_args, { server }) {
          for (const page of ["secret", "1"]) await server.sendResourceUpdated({ uri: `${OPEN}/${page}` });
          return "ok";
        },
      },
    },
    resources: { [OPEN]: { text: "open" }, [SECRET]: { text: "secret" } },
  });

/** A policy whose rules the test replaces. */
async function changeable(
  first: PolicyDocument,
): Promise<Policy & { use(next: PolicyDocument): Promise<void> }> {
  let rules = await readPolicy(first);
  const listeners = new Set<() => void>();
  return {
    decide: (request) => rules.decide(request),
    decideAll: (requests) => rules.decideAll(requests),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {},
    async use(next) {
      rules = await readPolicy(next);
      for (const listener of listeners) listener();
    },
  };
}

interface Gateway extends GatewayScene {
  readonly events: AuditEvent[];
}

async function open(
  upstream: CountingServer,
  policy: Policy,
  store: Store = memoryStore(),
): Promise<Gateway> {
  const events: AuditEvent[] = [];
  const scene = await openGateway(
    { mcpServers: { library: { url: upstream.url } }, store },
    { auth: false, policy, audit: (event) => events.push(event) },
  );
  return { ...scene, events };
}

const send = (url: string, session: string | undefined, method: string, params: Fields) =>
  post(
    url,
    { jsonrpc: "2.0", id: 1, method, params },
    { headers: session === undefined ? {} : { "mcp-session-id": session } },
  );

async function startSession(url: string): Promise<string> {
  const clientInfo = { name: "raw", version: "1" };
  const params = { protocolVersion: VERSIONS.legacy, capabilities: {}, clientInfo };
  return (await send(url, undefined, "initialize", params)).headers.get("mcp-session-id")!;
}

const subscribe = async (url: string, session: string, uri: string) =>
  (await send(url, session, "resources/subscribe", { uri })).last;

interface Stream extends AsyncDisposable {
  /** URIs of the updates so far. */
  updates(): unknown[];
  /** The first message with this method. */
  first(method: string): Promise<RpcMessage>;
}

function follow(opening: (signal: AbortSignal) => Promise<Response>): Stream {
  const controller = new AbortController();
  const messages: RpcMessage[] = [];
  const news = new EventEmitter();
  const ended = opening(controller.signal)
    .then((response) =>
      readMessages(response, (message) => {
        messages.push(message);
        news.emit("message");
      }),
    )
    .catch(() => {});
  return {
    updates: () =>
      messages
        .filter(({ method }) => method === "notifications/resources/updated")
        .map(({ params }) => params?.["uri"]),
    async first(method) {
      for (;;) {
        const found = messages.find((message) => message.method === method);
        if (found !== undefined) return found;
        await once(news, "message");
      }
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await ended;
    },
  };
}

const legacyStream = (url: string, session: string): Stream =>
  follow((signal) => fetch(url, { headers: { accept: ACCEPT, "mcp-session-id": session }, signal }));

function modernStream(url: string, resourceSubscriptions: readonly string[]): Stream {
  const method = "subscriptions/listen";
  const params = {
    notifications: { toolsListChanged: true, resourceSubscriptions },
    _meta: { [META.version]: VERSIONS.modern, [META.capabilities]: {} },
  };
  const headers = {
    accept: ACCEPT,
    "content-type": "application/json",
    "mcp-protocol-version": VERSIONS.modern,
    "mcp-method": method,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return follow((signal) => fetch(url, { method: "POST", headers, body, signal }));
}

const count = ({ methods }: CountingServer, method: string) =>
  methods().filter((each) => each === method).length;

/** Reports updates until the stream has one of this resource. */
async function reaches(stream: Stream, upstream: CountingServer, uri: string): Promise<void> {
  const seen = async () => {
    await upstream.server.resourceUpdated(SECRET);
    await upstream.server.resourceUpdated(uri);
    return stream.updates();
  };
  await expect.poll(seen).toContain(uri);
}

test("a legacy client cannot subscribe to what it may not read", async () => {
  await using upstream = await library();
  await using gateway = await open(upstream, await readPolicy(HIDDEN));
  const { url } = gateway;
  const session = await startSession(url);
  await using stream = legacyStream(url, session);
  const read = (await send(url, session, "resources/read", { uri: SECRET })).last;
  for (const uri of [SECRET, `toolport://library/${encodeURIComponent(SECRET)}`]) {
    const { error } = await subscribe(url, session, uri);
    expect(error).toEqual(read.error);
    expect(error).toMatchObject({
      message: expect.stringContaining("Not for you"),
      data: { code: "REFUSED" },
    });
  }
  expect((await subscribe(url, session, OPEN)).result).toEqual({});
  await reaches(stream, upstream, OPEN);
  expect(stream.updates()).not.toContain(SECRET);
  expect(count(upstream, "resources/subscribe")).toBe(1);
  expect(
    gateway.events
      .filter(({ method }) => method === "resources/subscribe")
      .map(({ outcome, server, tool }) => [outcome, server, tool]),
  ).toEqual([
    ["refused", "library", SECRET],
    ["refused", "library", SECRET],
    ["ok", "library", OPEN],
  ]);
});

test("a modern client is not promised updates of what it may not read", async () => {
  await using upstream = await library();
  await using gateway = await open(upstream, await readPolicy(HIDDEN));
  await using stream = modernStream(gateway.url, [SECRET, OPEN]);
  const { params } = await stream.first("notifications/subscriptions/acknowledged");
  expect(params).toMatchObject({ notifications: { resourceSubscriptions: [OPEN] } });
  await reaches(stream, upstream, OPEN);
  expect(stream.updates()).not.toContain(SECRET);
  expect(count(upstream, "resources/subscribe")).toBe(1);
});

test("updates below a resource are decided about one by one", async () => {
  await using upstream = await library();
  await using gateway = await open(
    upstream,
    await readPolicy({ default: "allow", rules: [{ effect: "deny", resource: `${OPEN}/secret` }] }),
  );
  const session = await startSession(gateway.url);
  await using stream = legacyStream(gateway.url, session);
  await subscribe(gateway.url, session, OPEN);
  await reaches(stream, upstream, OPEN);
  await send(gateway.url, session, "tools/call", { name: "library__touch", arguments: {} });
  await expect.poll(() => stream.updates()).toContain(`${OPEN}/1`);
  expect(stream.updates()).not.toContain(`${OPEN}/secret`);
});

describe.each(["modern", "legacy"] as const)("%s clients", (era) => {
  test("get no updates after new rules deny the resource, and get them again when it is allowed", async () => {
    await using upstream = await library();
    const policy = await changeable(ALL);
    await using gateway = await open(upstream, policy);
    const { url } = gateway;
    const session = await startSession(url);
    if (era === "legacy") for (const uri of [SECRET, OPEN]) await subscribe(url, session, uri);
    await using stream = era === "legacy" ? legacyStream(url, session) : modernStream(url, [SECRET, OPEN]);
    await reaches(stream, upstream, SECRET);
    const ended = upstream.next("resources/unsubscribe");
    await policy.use(HIDDEN);
    const before = stream.updates().filter((uri) => uri === SECRET).length;
    await reaches(stream, upstream, OPEN);
    await ended;
    expect(stream.updates().filter((uri) => uri === SECRET)).toHaveLength(before);
    expect(count(upstream, "resources/unsubscribe")).toBe(1);
    await policy.use(ALL);
    await expect.poll(() => count(upstream, "resources/subscribe")).toBe(3);
    const again = async () => {
      await upstream.server.resourceUpdated(SECRET);
      return stream.updates().filter((uri) => uri === SECRET).length;
    };
    await expect.poll(again).toBeGreaterThan(before);
  });
});

test("a replica checks the subscriptions that a session made on another one", async () => {
  await using upstream = await library();
  const store = memoryStore();
  await using one = await open(upstream, await readPolicy(ALL), store);
  await using two = await open(upstream, await readPolicy(HIDDEN), store);
  const session = await startSession(one.url);
  for (const uri of [SECRET, OPEN]) expect((await subscribe(one.url, session, uri)).result).toEqual({});
  await using stream = legacyStream(two.url, session);
  await reaches(stream, upstream, OPEN);
  expect(stream.updates()).not.toContain(SECRET);
  expect(count(upstream, "resources/subscribe")).toBe(1);
});
