/** An expired token is refreshed once, by one of fifty calls. Several processes are in `oauth-refresh-processes.slow.test.ts`. */
import { createToolport, memoryStore, type Store, type Toolport } from "toolport";
import { describe, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";

const EXPIRIES = 3;

async function logInTo(bench: OAuthBench, toolport: Toolport): Promise<void> {
  const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
  await toolport.finishAuth("a", (await logIn(authUrl as string)).searchParams);
  expect(bench.countTokens()).toBe(1);
}

const callTimes = (toolport: Toolport, times: number) =>
  Promise.all(Array.from({ length: times }, async () => (await toolport.callTool("a__whoami")).text));

describe("in one process", () => {
  const open = (bench: OAuthBench) =>
    createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL });

  test("fifty parallel calls after the server has expired the token: one token request", async () => {
    await using bench = await startOAuthBench();
    await using toolport = open(bench);
    await logInTo(bench, toolport);
    for (let round = 1; round <= EXPIRIES; round++) {
      bench.expireAccessTokens();
      expect(new Set(await callTimes(toolport, 50))).toEqual(new Set(["ada"]));
      expect(bench.countTokens("refresh_token")).toBe(round);
    }
    expect(bench.revokedFamilies).toEqual([]);
  });

  test("fifty parallel calls with a token known to be old: one token request, and no 401", async () => {
    await using bench = await startOAuthBench({ accessTokenSeconds: 3_600 });
    await using toolport = open(bench);
    await logInTo(bench, toolport);
    bench.resource.seen.length = 0;
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      vi.setSystemTime(Date.now() + 3_550_000);
      expect(new Set(await callTimes(toolport, 50))).toEqual(new Set(["ada"]));
    } finally {
      vi.useRealTimers();
    }
    expect(bench.countTokens("refresh_token")).toBe(1);
    expect(bench.resource.seen.filter(({ status }) => status === 401)).toEqual([]);
  });

  test("an unreachable authorization server fails the call, and the login stays", async () => {
    await using bench = await startOAuthBench();
    await using toolport = open(bench);
    await logInTo(bench, toolport);
    bench.expireAccessTokens();
    let asked = 0;
    bench.onTokenRequest = (phase) => {
      if (phase === "arrived") asked += 1;
      return "temporarily_unavailable";
    };
    const error = await failure(toolport.callTool("a__whoami"));
    expect(error).toMatchObject({ server: "a", retryable: true });
    expect(error).not.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(asked).toBeLessThanOrEqual(2);
    bench.onTokenRequest = undefined;
    expect(await callTimes(toolport, 1)).toEqual(["ada"]);
    expect(bench.countTokens("refresh_token")).toBe(1);
  });

  test("a refresh continues for the other callers when one aborts", async () => {
    await using bench = await startOAuthBench();
    await using toolport = open(bench);
    await logInTo(bench, toolport);
    bench.expireAccessTokens();
    const gone = new AbortController();
    bench.onTokenRequest = (phase) => {
      if (phase === "arrived") gone.abort(new Error("The caller has left"));
      return undefined;
    };
    const left = failure<Error>(toolport.callTool("a__whoami", {}, { signal: gone.signal }));
    const stayed = callTimes(toolport, 10);
    expect((await left).message).toContain("The caller has left");
    expect(new Set(await stayed)).toEqual(new Set(["ada"]));
    expect(bench.countTokens("refresh_token")).toBe(1);
    expect(bench.revokedFamilies).toEqual([]);
  });
});

/** A store whose leases exclude no process, as after a lease that ended too early. */
function withoutLeases(store: Store): Store {
  const lease = async (name: string) => ({
    name,
    fence: 1,
    renew: async () => true,
    release: async () => {},
  });
  return { ...store, lease };
}

test("invalid_grant while a newer token is in the store: it is used, and not deleted", async () => {
  await using bench = await startOAuthBench();
  const store = memoryStore();
  const options = { mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL };
  await using quick = createToolport({ ...options, store });
  await using slow = createToolport({ ...options, store: withoutLeases(store) });
  await logInTo(bench, quick);
  expect(await callTimes(slow, 1)).toEqual(["ada"]);
  bench.expireAccessTokens();
  let asked = 0;
  let [setNewer, setHeld] = [() => {}, () => {}];
  const isNewer = new Promise<void>((resolve) => {
    setNewer = resolve;
  });
  const isHeld = new Promise<void>((resolve) => {
    setHeld = resolve;
  });
  bench.onTokenRequest = async (phase) => {
    if (phase !== "arrived" || ++asked > 1) return undefined;
    setHeld();
    await isNewer;
    return "invalid_grant";
  };
  const late = callTimes(slow, 5);
  await isHeld;
  expect(await callTimes(quick, 5)).toEqual(Array(5).fill("ada"));
  setNewer();
  expect(await late).toEqual(Array(5).fill("ada"));
  expect(await callTimes(quick, 1)).toEqual(["ada"]);
  expect(asked).toBe(2);
  expect(bench.revokedFamilies).toEqual([]);
});
