/** Faults of users: two of them in one process, each with its own tokens, connections and lists. */
import { beforeAll, expect } from "vitest";
import { interleaveUsers, USERS } from "../support/interleave-users.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { bound, faultCase } from "./fault-case.js";
import { finishLogin, openBench, warmUpOAuth } from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

const CALLS = bound(1_000, 10_000);

faultCase(
  "A15",
  `${CALLS} calls in turn, tokens expiring in between`,
  async (harness) => {
    const bench = await openBench(harness);
    const toolport = harness.open({ it: { url: bench.url } }, { callbackUrl: CALLBACK_URL });
    for (const user of USERS) await finishLogin(toolport.as(user), "it", user);
    for (let quarter = 0; quarter < 4; quarter++) {
      expect(await interleaveUsers(toolport, "it__whoami", CALLS / 4)).toBe(0);
      bench.expireAccessTokens();
    }
    expect(Object.fromEntries(bench.resource.calls)).toEqual({ ada: CALLS / 2, grace: CALLS / 2 });
    // One refresh for each user and each expiry that a call met.
    expect(bench.countTokens("refresh_token")).toBe(2 * 3);
    expect(bench.revokedFamilies).toEqual([]);
  },
  { timeoutMs: bound(240_000, 600_000) },
);

faultCase(
  "A15",
  "a user who is not logged in gets no access through another user's login",
  async (harness) => {
    const bench = await openBench(harness);
    const toolport = harness.open({ it: { url: bench.url } }, { callbackUrl: CALLBACK_URL });
    await finishLogin(toolport.as("ada"));
    expect((await toolport.as("ada").callTool("it__whoami")).text).toBe("ada");
    for (const port of [toolport, toolport.as("grace"), toolport.as("Ada"), toolport.as("ada/")]) {
      await harness.fails(port.callTool("it__whoami"), {
        code: "AUTH_REQUIRED",
        server: "it",
        withinMs: 3_000,
      });
    }
    expect(Object.fromEntries(bench.resource.calls)).toEqual({ ada: 1 });
  },
);
