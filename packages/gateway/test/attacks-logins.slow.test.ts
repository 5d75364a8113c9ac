/** Logins of users at servers: a hundred calls without one, and a link that another user opens. */
import { memoryStore, type Store } from "toolport";
import { expect, test } from "vitest";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { sendRaw } from "../../../test/support/raw-request.js";
import { useServer } from "../../../test/support/use-server.js";
import { type AttackScene, openAttackScene, URL_OF_GATEWAY } from "./attack-scene.js";

const ORIGIN = new URL(URL_OF_GATEWAY).origin;
const capabilities = { elicitation: { url: {} } };

const vault = useServer(startOAuthBench);

/** The user of a browser is the one that its header names. */
const open = (store: Store): Promise<AttackScene> =>
  openAttackScene(
    { mcpServers: { vault: { url: vault.url } }, store, callbackUrl: `${ORIGIN}/connect/callback` },
    { identify: (request) => request.headers.get("x-browser-user") ?? undefined, concurrency: 200 },
  );

const call = (scene: AttackScene, more = {}) =>
  scene.modern("ada", "tools/call", { name: "vault__whoami", arguments: {}, ...more }, { capabilities });

/** Opens a page in the browser of a user. */
async function browse(scene: AttackScene, url: string | URL, user: string, cookie = "") {
  const { pathname, search } = new URL(url);
  const { status, headers } = await sendRaw(scene.url, pathname + search, {
    headers: { host: "127.0.0.1", "x-browser-user": scene.principalOf(user), cookie },
  });
  const cookies = headers["set-cookie"]?.map((line) => line.split(";")[0]) ?? [];
  return { status, location: headers.location ?? "", cookie: cookies.join("; ") };
}

const tokensIn = async (store: Store) => (await store.list("")).filter((key) => key.includes("token"));

test("G24 a hundred calls without a login at once: one login, and all go on after it", async () => {
  const store = memoryStore();
  await using scene = await open(store);
  const asked = await Promise.all(Array.from({ length: 100 }, () => call(scene)));
  const results = asked.map(({ last }) => last.result);
  expect(new Set(results.map(({ resultType }) => resultType))).toEqual(new Set(["input_required"]));
  const { params } = results[0].inputRequests.login;
  expect(params).toMatchObject({ mode: "url", url: expect.stringContaining(`${ORIGIN}/connect/`) });
  const page = await browse(scene, params.url, "ada");
  const back = await logIn(page.location, "ada-at-vault");
  expect((await browse(scene, back, "ada", page.cookie)).status).toBe(200);
  const goOn = results.map(({ requestState }) =>
    call(scene, { requestState, inputResponses: { login: { action: "accept" } } }),
  );
  const texts = (await Promise.all(goOn)).map(({ last }) => last.result.content?.[0]?.text);
  expect(new Set(texts)).toEqual(new Set(["ada-at-vault"]));
  expect(vault.clients).toHaveLength(1);
  expect(vault.countTokens("authorization_code")).toBe(1);
  expect(await tokensIn(store)).toHaveLength(1);
});

test("G24 a link that is given to another user is refused, and no token is saved", async () => {
  const store = memoryStore();
  await using scene = await open(store);
  const { last } = await call(scene);
  const { url } = last.result.inputRequests.login.params;
  expect(await browse(scene, url, "bob")).toMatchObject({ status: 403, location: "" });
  expect(await tokensIn(store)).toEqual([]);
  // The login that Ada began does not end in Bob's browser, which lacks her cookie.
  const page = await browse(scene, url, "ada");
  const back = await logIn(page.location, "bob-at-vault");
  expect((await browse(scene, back, "bob")).status).toBe(403);
  expect(await tokensIn(store)).toEqual([]);
  expect((await call(scene)).last.result.resultType).toBe("input_required");
});
