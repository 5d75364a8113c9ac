/** A custom store that fails: its own error reaches the caller as the cause of a `StateError`. */

import { Client } from "pg";
import {
  createToolport,
  isSuspended,
  memoryStore,
  type StateError,
  type Store,
  type Toolport,
  type ToolportOptions,
} from "toolport";
import { durableObjectStore } from "toolport/agents";
import { createCodeMode } from "toolport/code";
import { postgresStore } from "toolport/postgres";
import { redisStore } from "toolport/redis";
import { McpRegistryClient } from "toolport/registry";
import { createGateway } from "toolport/serve";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import {
  type FakeAuthorizationServer,
  startFakeAuthorizationServer,
} from "../support/fake-authorization-server.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";

/** As a database client throws it. */
class DriverError extends Error {
  override readonly name = "DriverError";
  readonly code = "ECONNREFUSED";
}

type Operation =
  | "get"
  | "put"
  | "delete"
  | "list"
  | "lease"
  | "watch"
  | "durabilityRisk"
  | "renew"
  | "release";

/** A store of a user, on which chosen operations reject, or throw before they return a promise. */
class CustomStore implements Store {
  readonly error = new DriverError("connect ECONNREFUSED");
  failing: readonly Operation[] = [];
  throws = false;
  readonly #inner = memoryStore();

  get = (...args: Parameters<Store["get"]>) => this.#run("get", () => this.#inner.get(...args));
  put = (...args: Parameters<Store["put"]>) => this.#run("put", () => this.#inner.put(...args));
  delete = (...args: Parameters<Store["delete"]>) => this.#run("delete", () => this.#inner.delete(...args));
  list = (...args: Parameters<Store["list"]>) => this.#run("list", () => this.#inner.list(...args));
  lease = (...args: Parameters<Store["lease"]>) =>
    this.#run("lease", async () => {
      const lease = await this.#inner.lease(...args);
      return (
        lease && {
          ...lease,
          renew: () => this.#run("renew", () => lease.renew()),
          release: () => this.#run("release", () => lease.release()),
        }
      );
    });
  durabilityRisk = () => this.#run("durabilityRisk", async () => undefined);
  close = () => this.#inner.close();

  watch(...args: Parameters<Store["watch"]>): () => void {
    if (this.failing.includes("watch")) throw this.error;
    return this.#inner.watch(...args);
  }

  #run<Result>(operation: Operation, run: () => Promise<Result>): Promise<Result> {
    if (!this.failing.includes(operation)) return run();
    if (this.throws) throw this.error;
    return Promise.reject(this.error);
  }
}

const EVERYTHING: readonly Operation[] = ["get", "put", "delete", "list", "lease", "durabilityRisk"];

let store: CustomStore;
let fake: FakeAuthorizationServer;
beforeEach(async () => {
  store = new CustomStore();
  fake = await startFakeAuthorizationServer();
});
afterEach(async () => {
  await store.close();
  await fake[Symbol.asyncDispose]();
});

const server = () => createTestServer({ tools: { greet: { handler: () => "hello" } } });

function open(
  options: ToolportOptions & { mcpServers: NonNullable<ToolportOptions["mcpServers"]> },
): Toolport {
  return createToolport({ store, ...options });
}

async function expectStateError(promise: Promise<unknown>): Promise<StateError> {
  const error = await failure<StateError>(promise);
  expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
  expect(error.cause).toBe(store.error);
  return error;
}

test.each([false, true])("suspended calls and programs (the store throws at once: %s)", async (throws) => {
  store.throws = throws;
  await using greeter = server();
  await using toolport = open({ mcpServers: { it: greeter.memory() }, approve: { when: "always" } });
  await using code = createCodeMode(toolport);
  const waiting = await toolport.callTool("it__greet", {}, { suspend: true });
  if (!isSuspended(waiting)) throw new Error("not suspended");
  const program = await code.execute("return await tools.it.greet({})", { suspend: true });
  if (!isSuspended(program)) throw new Error("not suspended");
  store.failing = EVERYTHING;
  const { token } = waiting;
  for (const run of [
    () => toolport.callTool("it__greet", {}, { suspend: true }),
    () => toolport.callTool("it__greet", {}, { suspend: { key: "order-7" } }),
    () => toolport.requestApproval("it__greet", {}),
    () => toolport.resume(token, { approve: true }),
    () => toolport.suspended(),
    () => toolport.discard(token),
    () => code.execute("return 1", { suspend: { key: "a" } }),
    () => code.suspended(),
    () => code.resume(program.token, { approve: true }),
  ])
    await expectStateError(run());
  store.failing = ["renew", "release"];
  expect(await toolport.resume(token, { approve: true })).toMatchObject({ text: "hello" });
});

test("tasks", async () => {
  await using greeter = server();
  await using toolport = open({ mcpServers: { it: greeter.memory() } });
  await toolport.connect();
  store.failing = EVERYTHING;
  await expectStateError(toolport.tasks());
  await expectStateError(toolport.task("some"));
});

test("pins", async () => {
  await using greeter = server();
  await using toolport = open({ mcpServers: { it: greeter.memory() }, pins: "warn" });
  await toolport.tools();
  store.failing = EVERYTHING;
  await expectStateError(toolport.approveTools("it"));
});

test("tokens and logins", async () => {
  await using toolport = open({ mcpServers: { it: { url: fake.mcpUrl.href } }, callbackUrl: CALLBACK_URL });
  const { authUrl } = (await toolport.connect()).servers["it"]!;
  const callback = await fake.logIn(authUrl!);
  store.failing = EVERYTHING;
  await expectStateError(toolport.finishAuth("it", callback));
  await expectStateError(toolport.authStatus("it"));
  await expectStateError(toolport.logOut("it"));
  const { error } = await toolport.connectServer("it");
  expect(error).toMatchObject({ name: "StateError", cause: store.error });
  store.failing = [];
  await toolport.finishAuth("it", await fake.logIn((await toolport.connectServer("it")).authUrl!));
  fake.expireAccessTokens();
  store.failing = EVERYTHING;
  expect((await toolport.connectServer("it")).error).toMatchObject({
    name: "StateError",
    cause: store.error,
  });
  toolport.configureOAuthCallback({ customHandler: ({ authError }) => new Response(authError) });
  const answer = await toolport.handleOAuthCallback(new Request(`${CALLBACK_URL}?${callback}`));
  expect(await answer.text()).toContain("The store failed: connect ECONNREFUSED");
});

test("what happens in the background is a warning with the store's message", async () => {
  store.failing = [...EVERYTHING, "watch"];
  await using greeter = server();
  await using toolport = open({ mcpServers: { it: greeter.memory() } });
  const warnings: string[] = [];
  toolport.on("warning", ({ message }) => warnings.push(message));
  await toolport.add("more", greeter.memory());
  expect((await toolport.callTool("it__greet")).text).toBe("hello");
  await toolport.remove("more");
  expect(warnings.length).toBeGreaterThan(0);
  for (const warning of warnings) expect(warning).toContain("The store failed: connect ECONNREFUSED");
});

test("the start of a gateway", async () => {
  await using greeter = server();
  await using toolport = open({ mcpServers: { it: greeter.memory() } });
  store.failing = EVERYTHING;
  const gateway = createGateway(toolport);
  await expectStateError(gateway.ready());
  await gateway.close();
});

const LOCAL = "redis://127.0.0.1:1";

/** Called as from JavaScript, without types. */
const wrongArguments: readonly (readonly [call: string, run: () => unknown, message: string])[] = [
  ["redisStore()", () => redisStore(undefined as never), "redisStore(): needs a URL"],
  ["redisStore({ url })", () => redisStore({ url: LOCAL } as never), "pass the text in `url` itself"],
  ["redisStore of a client of another package", () => redisStore({ on() {}, get() {} } as never), "ioredis"],
  [
    "redisStore of another URL",
    () => redisStore("https://example.com"),
    "must begin with redis:// or rediss://",
  ],
  ["redisStore of an empty text", () => redisStore(""), "needs a URL"],
  ["redisStore with a text as options", () => redisStore(LOCAL, "key" as never), "options must be an object"],
  ["redisStore with null as options", () => redisStore(LOCAL, null as never), "options must be an object"],
  [
    "redisStore with a misspelt option",
    () => redisStore(LOCAL, { prefx: "a" } as never),
    'did you mean "prefix"?',
  ],
  [
    "redisStore with a prefix that is no text",
    () => redisStore(LOCAL, { prefix: 5 } as never),
    "redisStore().prefix",
  ],
  ["postgresStore()", () => postgresStore(undefined as never), "postgresStore(): needs a URL"],
  [
    "postgresStore({ connectionString })",
    () => postgresStore({ connectionString: "postgres://localhost/app" } as never),
    "pass the text in `connectionString` itself",
  ],
  ["postgresStore of a client", () => postgresStore(new Client() as never), "a Pool of pg"],
  ["postgresStore of another URL", () => postgresStore("mysql://localhost/app"), "postgres://"],
  [
    "postgresStore with a misspelt option",
    () => postgresStore("postgres://localhost/app", { scheme: "a" } as never),
    'did you mean "schema"?',
  ],
  ["sqliteStore()", () => sqliteStore(undefined as never), "sqliteStore(): needs the path of a file"],
  [
    "sqliteStore({ path })",
    () => sqliteStore({ path: "./state.db" } as never),
    "pass the text in `path` itself",
  ],
  ["sqliteStore(:memory:)", () => sqliteStore(":memory:"), "leave out `store` to keep state in memory"],
  ["sqliteStore(redis://…)", () => sqliteStore("redis://:hunter2@localhost"), "not an address"],
  ["sqliteStore of a web address", () => sqliteStore(new URL("https://example.com/a")), "file:"],
  [
    "sqliteStore with a wrong time",
    () => sqliteStore("./a.db", { busyTimeoutMs: "5s" } as never),
    "busyTimeoutMs",
  ],
  ["durableObjectStore(ctx)", () => durableObjectStore({ storage: {} } as never), "ctx.storage"],
  ["durableObjectStore()", () => durableObjectStore(undefined as never), "ctx.storage"],
  [
    "createToolport({ store: {} })",
    () => createToolport({ store: {} as never }),
    "options.store: must be a store",
  ],
  [
    "createToolport with a Map",
    () => createToolport({ store: new Map() as never }),
    "it lacks put, list, lease, watch",
  ],
  [
    "createToolport with the function",
    () => createToolport({ store: memoryStore as never }),
    "call the function",
  ],
  ["createToolport with an address", () => createToolport({ store: LOCAL as never }), "not a text"],
  ["createToolport with null", () => createToolport({ store: null as never }), "must be a store"],
  [
    "McpRegistryClient with a Map",
    () => new McpRegistryClient({ cache: new Map() as never }),
    "cache: must be a store",
  ],
];

test.each(wrongArguments)("%s is a ConfigError", (_call, run, message) => {
  let error: unknown;
  try {
    run();
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({ name: "ConfigError", code: "INVALID_CONFIG" });
  expect((error as Error).message).toContain(message);
});

test("a wrong argument is not quoted: it may contain a password", () => {
  for (const run of [
    () => redisStore("http://user:hunter2@localhost"),
    () => postgresStore("mysql://user:hunter2@localhost"),
    () => redisStore({ url: "redis://user:hunter2@localhost" } as never),
    () => sqliteStore(new URL("https://user:hunter2@localhost/a")),
  ])
    expect(run).toThrowError(expect.objectContaining({ message: expect.not.stringContaining("hunter2") }));
});
