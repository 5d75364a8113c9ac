/** Set-up of the authorization faults: protected servers, logins and attempts, closed with the harness. */
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { expect } from "vitest";
import { type OAuthBench, type OAuthBenchOptions, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { type LoginAttempt, tryToLogIn } from "../support/oauth-hostile-addresses.js";
import { type HostileServer, type Lies, startHostileServer } from "../support/oauth-hostile-server.js";
import type { FaultHarness } from "./fault-harness.js";

let warm: Promise<void> | undefined;

/** Loads once the modules that only logins need, so that it does not count for the first case. For `beforeAll`. */
export function warmUpOAuth(): Promise<void> {
  warm ??= (async () => {
    await using bench = await startOAuthBench();
    await using toolport = createToolport({
      mcpServers: { a: { url: bench.url } },
      callbackUrl: CALLBACK_URL,
    });
    await finishLogin(toolport, "a");
    await toolport.callTool("a__whoami");
  })();
  return warm;
}

/** A real authorization server in front of a real MCP server. At the end none of its secrets may be visible. */
export async function openBench(harness: FaultHarness, options?: OAuthBenchOptions): Promise<OAuthBench> {
  const bench = await startOAuthBench(options);
  harness.atEnd(async () => {
    for (const secret of bench.secrets.keys()) harness.secret(secret);
    await bench[Symbol.asyncDispose]();
  });
  return bench;
}

/** A lying authorization server, by default at an address where logins are allowed. */
export async function openHostile(harness: FaultHarness, host = "127.0.0.1"): Promise<HostileServer> {
  const hostile = await startHostileServer(host);
  harness.atEnd(() => hostile[Symbol.asyncDispose]());
  return hostile;
}

/** Closes it with the harness. */
export function disposeAtEnd<T extends AsyncDisposable>(harness: FaultHarness, thing: T): T {
  harness.atEnd(() => thing[Symbol.asyncDispose]());
  return thing;
}

/** A port for this server, called `it`, without a login. */
export const openPort = (
  harness: FaultHarness,
  { url }: { url: string },
  options: Omit<ToolportOptions, "mcpServers"> & { oauth?: object } = {},
): Toolport => {
  const { oauth, ...more } = options;
  return harness.open({ it: { url, ...(oauth && { oauth }) } }, { callbackUrl: CALLBACK_URL, ...more });
};

/** Connects, and returns the URL of the login page. */
export async function askForLogin(toolport: Pick<Toolport, "connect">, server = "it"): Promise<string> {
  const { state, authUrl, error } = (await toolport.connect()).servers[server] ?? {};
  expect(state, error?.stack).toBe("authenticating");
  return authUrl as string;
}

/** Logs a user in. */
export async function finishLogin(
  toolport: Pick<Toolport, "connect" | "finishAuth">,
  server = "it",
  user = "ada",
): Promise<void> {
  const back = await logIn(await askForLogin(toolport, server), user);
  await toolport.finishAuth(server, back.searchParams);
}

/** A port whose user is logged in. */
export async function openLoggedIn(
  harness: FaultHarness,
  bench: OAuthBench,
  options?: Parameters<typeof openPort>[2],
): Promise<Toolport> {
  const toolport = openPort(harness, bench, options);
  await finishLogin(toolport);
  expect(await whoami(toolport)).toBe("ada");
  return toolport;
}

export const whoami = async (toolport: Pick<Toolport, "callTool">): Promise<string> =>
  (await toolport.callTool("it__whoami")).text;

/** Makes this many calls at once; returns their texts. */
export const callTimes = (toolport: Pick<Toolport, "callTool">, times: number): Promise<string[]> =>
  Promise.all(Array.from({ length: times }, () => whoami(toolport)));

/** Attempts a login at a lying server; the result is also searched for secrets. */
export async function attempt(
  harness: FaultHarness,
  hostile: HostileServer,
  lies: Lies,
  oauth?: Parameters<typeof tryToLogIn>[2],
): Promise<LoginAttempt & { readonly ms: number }> {
  const began = performance.now();
  const result = await tryToLogIn(hostile, lies, oauth);
  harness.note(result);
  return { ...result, ms: performance.now() - began };
}

/** Requests that a lying server received, as `METHOD path`. */
export const linesOf = ({ seen }: HostileServer): string[] => seen.map(({ line }) => line);

/** Everything that a lying server received, as one text. */
export const bytesAt = ({ seen }: HostileServer): string =>
  JSON.stringify(seen.map(({ line, headers, body }) => [line, headers, decodeURIComponent(body)]));
