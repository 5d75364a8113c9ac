/** After a refused login a new login URL is available at once, only for the user who refused. */
import { createToolport, type Toolport } from "toolport";
import { expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn, refuseLogin } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { useServer } from "../support/use-server.js";

const bench = useServer(startOAuthBench);

const open = () => createToolport({ mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL });
const urlOf = (toolport: Toolport) => toolport.snapshot().servers["a"]?.auth_url as string;

/** The two ways to finish a login. */
const ENDS: Readonly<Record<string, (toolport: Toolport, back: URL) => Promise<unknown>>> = {
  handleOAuthCallback: async (toolport, back) => {
    const { status } = await toolport.handleOAuthCallback(new Request(back));
    if (status !== 200) throw new Error(`refused with ${status}`);
  },
  finishAuth: (toolport, back) => toolport.finishAuth("a", back.searchParams),
};

it.each(Object.entries(ENDS))("%s: a refused login is followed by one that works", async (_name, end) => {
  await using toolport = open();
  await toolport.connect();
  const seen = new Set<string>();
  for (let refusals = 0; refusals < 5; refusals++) {
    const url = urlOf(toolport);
    seen.add(url);
    const back = await refuseLogin(url);
    expect(back.searchParams.get("error")).toBe("access_denied");
    await failure(end(toolport, back));
    expect(toolport.snapshot().servers["a"]?.state).toBe("authenticating");
  }
  expect(seen.size).toBe(5);
  expect(seen).not.toContain(urlOf(toolport));
  await end(toolport, await logIn(urlOf(toolport)));
  expect((await toolport.callTool("a__whoami")).text).toBe("ada");
});

it("is available when the page for failed logins is built", async () => {
  await using toolport = open();
  const first = (await toolport.connect()).servers["a"]?.authUrl;
  const shown: (string | null | undefined)[] = [];
  toolport.configureOAuthCallback({
    customHandler: () => {
      shown.push(urlOf(toolport));
      return new Response(null, { status: 403 });
    },
  });
  await toolport.handleOAuthCallback(new Request(await refuseLogin(first as string)));
  expect(shown).toEqual([urlOf(toolport)]);
  expect(shown).not.toContain(first);
});

it("keeps the URL after a callback that belongs to no login, and that of other users", async () => {
  await using toolport = open();
  const grace = toolport.as("grace");
  await Promise.all([toolport.connect(), grace.connect()]);
  const [ours, hers] = [urlOf(toolport), urlOf(grace)];
  const requests = bench.resource.seen.length;
  await toolport.handleOAuthCallback(new Request(`${CALLBACK_URL}?state=made-up&error=access_denied`));
  await failure(toolport.finishAuth("a", new URLSearchParams({ state: "made-up", error: "access_denied" })));
  expect(bench.resource.seen.length).toBe(requests);
  expect([urlOf(toolport), urlOf(grace)]).toEqual([ours, hers]);
  await toolport.handleOAuthCallback(new Request(await refuseLogin(hers)));
  expect(urlOf(toolport)).toBe(ours);
  expect(urlOf(grace)).not.toBe(hers);
});
