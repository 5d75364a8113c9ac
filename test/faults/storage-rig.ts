/** A port whose server needs a login, on a store that is about to be in trouble. */
import type { Store, Toolport } from "toolport";
import { expect } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import type { FaultHarness } from "./fault-harness.js";

/** The bounds of the catalogue. */
export const ONE_SECOND = 1_000;
export const FIVE_SECONDS = 5_000;

export interface StorageRig {
  readonly toolport: Toolport;
  readonly bench: OAuthBench;
  /** The warnings of the port. */
  readonly warnings: readonly string[];
  /** A call with a token: the name of its user. */
  whoami(): Promise<string>;
  logIn(): Promise<void>;
}

/** Loads once what only these suites need, so that it does not count for the first case. */
export async function warmUpStorage(): Promise<void> {
  await using _bench = await startOAuthBench();
}

/** Opens the port without a login. The harness closes the store. */
export async function openRig(harness: FaultHarness, store: Store, shared?: OAuthBench): Promise<StorageRig> {
  harness.keep(store);
  const bench = shared ?? (await startOAuthBench());
  if (shared === undefined) harness.atEnd(() => bench[Symbol.asyncDispose]());
  const toolport = harness.open({ it: { url: bench.url } }, { store, callbackUrl: CALLBACK_URL });
  const warnings: string[] = [];
  toolport.on("warning", ({ message }) => warnings.push(message));
  harness.atEnd(() => {
    harness.note(warnings);
    for (const secret of bench.secrets.keys()) harness.secret(secret);
  });
  return {
    toolport,
    bench,
    warnings,
    whoami: async () => (await toolport.callTool("it__whoami")).text,
    async logIn() {
      const { authUrl } = await toolport.connectServer("it");
      expect(authUrl).toBeTypeOf("string");
      await toolport.finishAuth("it", (await logIn(authUrl as string)).searchParams);
    },
  };
}

/** Opens the port and logs in. */
export async function openLoggedIn(harness: FaultHarness, store: Store): Promise<StorageRig> {
  const rig = await openRig(harness, store);
  await rig.logIn();
  expect(await rig.whoami()).toBe("ada");
  return rig;
}

/** The rule while the store fails: valid tokens are used, and an expired one uses up no refresh token. */
export async function expectTokensToSurvive(
  harness: FaultHarness,
  { toolport, bench, whoami }: StorageRig,
  { code, withinMs }: { code: string; withinMs: number },
): Promise<void> {
  for (let calls = 0; calls < 10; calls++) expect(await harness.within(withinMs, whoami())).toBe("ada");
  bench.expireAccessTokens();
  await harness.fails(toolport.callTool("it__whoami"), { code, server: "it", withinMs });
  expect(bench.countTokens("refresh_token")).toBe(0);
}

/** The rule when the store works again: one refresh, and the login is still valid. */
export async function expectRecovery({ bench, whoami }: StorageRig): Promise<void> {
  expect(await whoami()).toBe("ada");
  expect(bench.countTokens("refresh_token")).toBe(1);
  expect(bench.revokedFamilies).toEqual([]);
}
