/** The key server is away, and tokens end while streams are open. */
import { createTestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createSigningKey } from "../../../test/support/key-server.js";
import { type AttackScene, openAttackScene, URL_OF_GATEWAY } from "./attack-scene.js";
import { ACCEPT, META, post, readMessages, VERSIONS } from "./raw-client.js";

const upstream = createTestServer({ tools: { ping: { handler: () => "pong" } } });
let scene: AttackScene;

beforeAll(async () => {
  scene = await openAttackScene({ mcpServers: { up: (await upstream.http()).entry } });
});

afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
  await upstream.close();
});

afterEach(() => void vi.useRealTimers());

const _meta = { [META.version]: VERSIONS.modern, [META.capabilities]: {} };

const listTools = (at: AttackScene, token: string) =>
  post(
    at.url,
    { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } },
    {
      headers: {
        authorization: `Bearer ${token}`,
        "mcp-protocol-version": VERSIONS.modern,
        "mcp-method": "tools/list",
      },
    },
  );

test("G20 without the key server known keys serve on, an unknown key is 503, and one request is under way at a time", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  // The key server is asked at most once in five seconds.
  const pause = () => void vi.setSystemTime(Date.now() + 5_000);
  await using scene = await openAttackScene({ mcpServers: { up: (await upstream.http()).entry } });
  expect((await scene.modern("ada", "tools/list")).status).toBe(200);
  scene.issuer.failure = "drop";
  pause();
  const unknown = await createSigningKey("two");
  const signed = (sub: string) =>
    unknown.sign({
      iss: scene.issuer.issuer,
      sub,
      aud: URL_OF_GATEWAY,
      exp: Math.floor(Date.now() / 1_000) + 3_600,
    });
  const attempts = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => listTools(scene, await signed(`user ${index}`))),
  );
  expect(new Set(attempts.map(({ status }) => status))).toEqual(new Set([503]));
  expect(attempts[0]!.headers.get("retry-after")).not.toBeNull();
  // New tokens under a known key.
  const known = await Promise.all(
    Array.from({ length: 5 }, (_, index) => scene.modern(`known ${index}`, "tools/list")),
  );
  expect(known.map(({ status }) => status)).toEqual(known.map(() => 200));
  expect(scene.issuer.mostOpen).toBe(1);
  scene.issuer.failure = undefined;
  scene.issuer.keys.push(unknown.jwk);
  pause();
  expect((await listTools(scene, await signed("ada"))).status).toBe(200);
  expect(scene.issuer.mostOpen).toBe(1);
});

test("G20 streams of both eras end with their token", async () => {
  const session = await scene.session("ada");
  const token = await scene.tokenOf("ada", { exp: Math.floor(Date.now() / 1_000) + 5 });
  const authorization = `Bearer ${token}`;
  const listen = {
    jsonrpc: "2.0",
    id: "stream",
    method: "subscriptions/listen",
    params: { notifications: { toolsListChanged: true }, _meta },
  };
  const responses = await Promise.all([
    fetch(scene.url, {
      method: "POST",
      headers: {
        authorization,
        accept: ACCEPT,
        "content-type": "application/json",
        "mcp-protocol-version": VERSIONS.modern,
        "mcp-method": listen.method,
      },
      body: JSON.stringify(listen),
    }),
    fetch(scene.url, { headers: { authorization, accept: ACCEPT, "mcp-session-id": session } }),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  // Resolves when the gateway has ended the responses completely; a cut one rejects.
  const [modern] = await Promise.all(responses.map((response) => readMessages(response, undefined)));
  expect(modern!.messages.at(-1)).toMatchObject({ id: "stream", result: {} });
  // They ended because the token did. Timers may be a little early.
  await expect.poll(async () => (await listTools(scene, token)).status).toBe(401);
});
