/** Users of a gateway with a store: one watch for all of them, and saved lists that a partly read catalog does not replace. */

import { createToolport } from "@toolport/core";
import { memoryStore, type Store } from "@toolport/stores";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { CALLBACK_URL } from "../../../test/support/oauth-callback-url.js";
import { usersOf } from "../src/users.js";
import { countingServer, PATIENT, TOOLS } from "./support/counting-server.js";

/** A store that counts its open watches. */
function watchedStore() {
  const store = memoryStore();
  const watches: string[] = [];
  const watch: Store["watch"] = (prefix, listener) => {
    watches.push(prefix);
    const stop = store.watch(prefix, listener);
    return () => {
      watches.splice(watches.indexOf(prefix), 1);
      stop();
    };
  };
  return { store: { ...store, watch }, watches };
}

test("users share the watches of the store, which end with the port", async () => {
  await using one = await countingServer(TOOLS);
  const { store, watches } = watchedStore();
  const toolport = createToolport({ mcpServers: { one: { url: one.url } }, store, pins: "block" });
  const users = usersOf(toolport);
  await users.use("ada", "needed").need("tools", PATIENT);
  const before = [...watches];
  for (const user of ["grace", "joan", "mary"]) await users.use(user, "needed").need("tools", PATIENT);
  expect(watches).toEqual(before);
  expect(before).toEqual(expect.arrayContaining(["oauth/tokens/", "servers/", "pins/"]));
  await toolport.close();
  expect(watches).toEqual([]);
});

test("a server that another replica adds for a user reaches that user only", async () => {
  await using one = await countingServer(TOOLS);
  await using two = await countingServer(TOOLS);
  const store = memoryStore();
  const options = { mcpServers: { one: { url: one.url } }, store };
  await using first = createToolport(options);
  await using second = createToolport(options);
  const users = usersOf(first);
  const [ada, grace] = [users.use("ada", "needed"), users.use("grace", "needed")];
  await Promise.all([ada.need("tools", PATIENT), grace.need("tools", PATIENT)]);
  ada.listen();
  const changed = new Promise((resolve) => first.on("listsChanged", resolve));
  await second.as("ada").add("two", { url: two.url });
  expect(await changed).toMatchObject({ server: "two", principal: "ada" });
  expect(ada.configs().map(({ name }) => name)).toEqual(["one", "two"]);
  expect(grace.configs().map(({ name }) => name)).toEqual(["one"]);
});

test("a login that another replica finishes connects the user", async () => {
  await using bench = await startOAuthBench();
  const options = { mcpServers: { it: { url: bench.url } }, store: memoryStore(), callbackUrl: CALLBACK_URL };
  await using first = createToolport(options);
  await using second = createToolport(options);
  const port = usersOf(second).use("ada", "needed");
  await port.need("tools", PATIENT);
  const { state } = port.pool.require("it");
  const authUrl = state.status === "authenticating" ? state.authUrl : undefined;
  const ready = new Promise<void>((resolve) => {
    second.on("state", ({ to, principal }) => to === "ready" && principal === "ada" && resolve());
  });
  const response = await first.handleOAuthCallback(new Request(await logIn(authUrl!)));
  expect(response.status).toBe(200);
  await ready;
  expect(port.pool.require("it").state.status).toBe("ready");
});

test("lists that were not read stay saved", async () => {
  const one = await countingServer(TOOLS);
  const options = { mcpServers: { one: { url: one.url } }, store: memoryStore() };
  {
    await using first = createToolport(options);
    expect(await first.as("ada").prompts()).toHaveLength(1);
  }
  await one.server.update({ tools: { other: { description: "New", handler: () => "ok" } } });
  {
    await using second = createToolport(options);
    await usersOf(second).use("ada", "needed").need("tools", PATIENT);
  }
  await one[Symbol.asyncDispose]();
  await using third = createToolport(options);
  const ada = third.as("ada");
  expect((await ada.tools()).map(({ name }) => name)).toEqual(["one__other"]);
  expect((await ada.prompts()).map(({ name }) => name)).toEqual(["plan"]);
});

test("two lists that are read at the same time are both saved", async () => {
  const one = await countingServer(TOOLS);
  const options = { mcpServers: { one: { url: one.url } }, store: memoryStore() };
  {
    await using first = createToolport(options);
    const port = usersOf(first).use("ada", "needed");
    await Promise.all([
      port.need("prompts", PATIENT),
      port.need("tools", PATIENT),
      port.need("resources", PATIENT),
    ]);
  }
  await one[Symbol.asyncDispose]();
  await using second = createToolport(options);
  const ada = second.as("ada");
  expect(await ada.tools()).toHaveLength(1);
  expect(await ada.prompts()).toHaveLength(1);
  expect(await ada.resources()).toHaveLength(1);
});

test("a server that hangs is listed from the store after the limit", async () => {
  await using server = createTestServer(TOOLS);
  let isHanging = false;
  const { url } = await server.http({
    intercept: (request) =>
      isHanging
        ? new Promise((resolve) => {
            request.signal.addEventListener("abort", () => resolve(new Response(null, { status: 503 })));
          })
        : undefined,
  });
  const options = { mcpServers: { one: { url } }, store: memoryStore() };
  {
    await using first = createToolport(options);
    await usersOf(first).use("ada", "needed").need("tools", PATIENT);
  }
  isHanging = true;
  await using second = createToolport(options);
  const port = usersOf(second).use("ada", "needed");
  await port.need("tools", { limitMs: 20 });
  expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["one__echo"]);
});
