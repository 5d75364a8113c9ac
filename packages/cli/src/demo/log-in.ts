/** Shows a login, one token refresh for fifty calls, and a restart from saved state without either. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolport, type Toolport } from "@toolport/core";
import type { Store } from "@toolport/stores";
import { openStore } from "../open-store.js";
import type { VaultServer } from "./servers.js";
import { check } from "./step-runner.js";

const CALLBACK_URL = "http://127.0.0.1/oauth/callback";
const CALLS = 50;

export async function logInAndRestart(vault: VaultServer): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "toolport-demo-"));
  try {
    // The same file for every port, as after a restart.
    const open = async () => (await openStore(join(directory, "state.db"), () => {})).store;
    const first = await logIn(vault, await open());
    const second = await restart(vault, await open());
    return [...first, ...second];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function logIn(vault: VaultServer, store: Store): Promise<string[]> {
  const { authorization } = vault;
  await using toolport = createToolport({ store, callbackUrl: CALLBACK_URL });
  const { state, authUrl } = await toolport.add("vault", vault.server.entry);
  check(state === "authenticating" && authUrl !== undefined, `the server is ${state}, not authenticating`);
  await visit(toolport, authUrl);
  const { text } = await toolport.callTool("vault__open");
  check(text === "the vault is open", `it returned ${JSON.stringify(text)}`);
  authorization.expireTokens();
  const before = authorization.counts.tokens;
  await Promise.all(Array.from({ length: CALLS }, () => toolport.callTool("vault__open")));
  const refreshes = authorization.counts.tokens - before;
  check(refreshes === 1, `${refreshes} token requests instead of one`);
  await toolport.close();
  await store.close();
  return [
    `logged in with a scripted browser: "${text}"`,
    `token expired, ${CALLS} calls at once: ${refreshes} token request`,
  ];
}

async function restart(vault: VaultServer, store: Store): Promise<string[]> {
  const { authorization } = vault;
  const { logins, tokens } = authorization.counts;
  await using toolport = createToolport({ store });
  const tools = await toolport.tools();
  const { state } = toolport.snapshot().servers["vault"]!;
  check(tools.length === 1 && state === "idle", `${tools.length} tools are known, the server is ${state}`);
  const { text } = await toolport.callTool("vault__open");
  check(text === "the vault is open", `it returned ${JSON.stringify(text)}`);
  const again = authorization.counts.logins - logins + (authorization.counts.tokens - tokens);
  check(again === 0, `${again} requests to the authorization server after the restart`);
  await toolport.close();
  await store.close();
  return ["restarted from the saved state: tools listed before connecting, no login, no refresh"];
}

/** Acts as a browser: opens the login page and follows its redirect to the program. */
async function visit(toolport: Toolport, authUrl: string): Promise<void> {
  const answer = await fetch(authUrl, { redirect: "manual" });
  const page = await toolport.handleOAuthCallback(new Request(answer.headers.get("location") ?? ""));
  check(page.ok, `the callback returned HTTP ${page.status}`);
}
