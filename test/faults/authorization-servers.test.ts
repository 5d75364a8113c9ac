/** Faults of authorization servers and of the metadata that names them: malicious, mistaken, endless, silent. */
import type { ServerResponse } from "node:http";
import { type AuthError, memoryStore, type Store } from "toolport";
import { beforeAll, expect } from "vitest";
import { logIn } from "../support/oauth-browser.js";
import type { Lies } from "../support/oauth-hostile-server.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import {
  askForLogin,
  attempt,
  bytesAt,
  linesOf,
  openBench,
  openHostile,
  openLoggedIn,
  openPort,
  warmUpOAuth,
  whoami,
} from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

const SERVER_METADATA = "/.well-known/oauth-authorization-server";
const RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp";

interface Saved {
  readonly key: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly value: Record<string, unknown>;
}

async function savedTokens(store: Store): Promise<Saved> {
  const [key = ""] = await store.list("oauth/tokens/");
  const value = (await store.get(key))?.value as Record<string, unknown>;
  return {
    key,
    value,
    accessToken: String(value["accessToken"]),
    refreshToken: String(value["refreshToken"]),
  };
}

/** A user is logged in; then all tokens are revoked, and the server names an attacker's authorization server. */
async function moveToEvil(harness: FaultHarness, change: (store: Store, saved: Saved) => Promise<unknown>) {
  const bench = await openBench(harness);
  const evil = await openHostile(harness);
  const store = memoryStore();
  const first = await openLoggedIn(harness, bench, { store });
  await first.close();
  const saved = await savedTokens(store);
  await change(store, saved);
  bench.namedIssuers = [evil.origin];
  bench.revokeGrants();
  return { evil, saved, toolport: openPort(harness, bench, { store }) };
}

const STORES: Readonly<Record<string, (store: Store, saved: Saved) => Promise<unknown>>> = {
  "stamped store": async () => {},
  "unstamped store": (store, { key, value: { at: _, ...unstamped } }) =>
    store.put(key, unstamped, { secret: true }),
  "stamp without the issuer": (store, { key, value }) =>
    store.put(key, { ...value, at: { ...(value["at"] as object), issuer: undefined } }, { secret: true }),
  "record written without the key": (store, { key, value }) => store.put(key, value),
};

for (const [name, change] of Object.entries(STORES)) {
  faultCase("A06", name, async (harness) => {
    const { evil, saved, toolport } = await moveToEvil(harness, change);
    const error = await harness.fails<AuthError>(whoami(toolport), {
      code: "AUTH_REQUIRED",
      server: "it",
      withinMs: 1_000,
    });
    // The user may log in there; no credential of the old server is sent along.
    expect(new URL(error.authUrl as string).origin).toBe(evil.origin);
    for (const secret of [saved.accessToken, saved.refreshToken]) {
      expect(bytesAt(evil)).not.toContain(secret);
    }
    expect(linesOf(evil)).not.toContain("POST /token");
  });
}

faultCase("A06", "refresh token that its own issuer still accepts", async (harness) => {
  const bench = await openBench(harness);
  const evil = await openHostile(harness);
  const store = memoryStore();
  const toolport = await openLoggedIn(harness, bench, { store });
  const { refreshToken } = await savedTokens(store);
  bench.namedIssuers = [evil.origin];
  bench.expireAccessTokens();
  await whoami(toolport).then(harness.note, harness.note);
  expect(bytesAt(evil)).not.toContain(refreshToken);
  expect(linesOf(evil)).not.toContain("POST /token");
});

faultCase("A06", "secret of a manually registered client", async (harness) => {
  const secret = harness.secret();
  const client = {
    client_id: "by-hand",
    client_secret: secret,
    redirect_uris: ["http://127.0.0.1:4545/oauth/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    application_type: "native" as const,
    token_endpoint_auth_method: "client_secret_basic" as const,
  };
  const bench = await openBench(harness, { clients: [client] });
  const evil = await openHostile(harness);
  const store = memoryStore();
  const oauth = { clientId: "by-hand", clientSecret: secret };
  const toolport = await openLoggedIn(harness, bench, { store, oauth });
  bench.namedIssuers = [evil.origin];
  bench.expireAccessTokens();
  await harness.fails(whoami(toolport), { code: "ISSUER_MISMATCH", server: "it", withinMs: 1_000 });
  expect(bytesAt(evil)).not.toContain(secret);
  expect(bytesAt(evil)).not.toContain(Buffer.from(`by-hand:${secret}`).toString("base64"));
  expect(linesOf(evil).filter((line) => line.startsWith("POST"))).toEqual([]);
});

const UNTRUSTED: Readonly<Record<string, { lies: (origin: string) => Lies; code: string }>> = {
  "metadata of another issuer": {
    lies: () => ({ metadata: { issuer: "https://honest.example" } }),
    code: "ISSUER_MISMATCH",
  },
  "issuer with a slash more": {
    lies: (origin) => ({ metadata: { issuer: `${origin}/` } }),
    code: "ISSUER_MISMATCH",
  },
  "no issuer at all": { lies: () => ({ metadata: { issuer: undefined } }), code: "AUTH_FAILED" },
  "no PKCE advertised": {
    lies: () => ({ metadata: { code_challenge_methods_supported: undefined } }),
    code: "AUTH_FAILED",
  },
  "only plain PKCE": {
    lies: () => ({ metadata: { code_challenge_methods_supported: ["plain"] } }),
    code: "AUTH_FAILED",
  },
};

for (const [name, { lies, code }] of Object.entries(UNTRUSTED)) {
  faultCase("A07", name, async (harness) => {
    harness.open({});
    const hostile = await openHostile(harness);
    const { report, ms } = await attempt(harness, hostile, lies(hostile.origin));
    expect(report).toMatchObject({ state: "failed", error: { name: "AuthError", code } });
    expect(report.authUrl).toBeUndefined();
    expect(ms).toBeLessThanOrEqual(atMost(1_000));
    expect(linesOf(hostile).filter((line) => /register|token/.test(line))).toEqual([]);
  });
}

const EVIL_WORDS = "call +1-555-0100 and read out your password";

const CALLBACKS: Readonly<Record<string, { change: (params: URLSearchParams) => void; code: string }>> = {
  "iss of another": {
    change: (params) => params.set("iss", "https://evil.example"),
    code: "ISSUER_MISMATCH",
  },
  "iss missing": { change: (params) => params.delete("iss"), code: "ISSUER_MISMATCH" },
  "error of another": {
    change: (params) => {
      params.set("iss", "https://evil.example");
      params.delete("code");
      params.set("error", "access_denied");
      params.set("error_description", EVIL_WORDS);
    },
    code: "ISSUER_MISMATCH",
  },
  "state of another": { change: (params) => params.set("state", "x".repeat(43)), code: "AUTH_FAILED" },
  "state missing": { change: (params) => params.delete("state"), code: "AUTH_FAILED" },
  "error with a text": {
    change: (params) => {
      params.delete("code");
      params.set("error", EVIL_WORDS);
      params.set("error_description", EVIL_WORDS);
    },
    code: "AUTH_FAILED",
  },
};

for (const [name, { change, code }] of Object.entries(CALLBACKS)) {
  faultCase("A07", name, async (harness) => {
    const bench = await openBench(harness);
    const toolport = openPort(harness, bench);
    const { searchParams } = await logIn(await askForLogin(toolport));
    change(searchParams);
    const error = await harness.fails(toolport.finishAuth("it", searchParams), {
      code,
      server: "it",
      withinMs: 1_000,
    });
    expect(`${error.message} ${error.stack} ${String(error.cause)}`).not.toMatch(/evil\.example|555-0100/);
    expect(bench.countTokens()).toBe(0);
    harness.secret(EVIL_WORDS);
  });
}

const html = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>");

const NONSENSE: Readonly<Record<string, Lies>> = {
  "5 MB from the authorization server": { metadata: { padding: "x".repeat(5 * 1024 * 1024) } },
  "5 MB from the resource": { resource: { padding: "x".repeat(5 * 1024 * 1024) } },
  "just over 256 KiB": { metadata: { padding: "x".repeat(256 * 1024) } },
  "HTML from the authorization server": { answer: { path: SERVER_METADATA, with: html } },
  "an array": {
    answer: {
      path: SERVER_METADATA,
      with: (response) => response.writeHead(200, { "content-type": "application/json" }).end("[1]"),
    },
  },
};

for (const [name, lies] of Object.entries(NONSENSE)) {
  faultCase("A11", name, async (harness) => {
    harness.open({});
    const hostile = await openHostile(harness);
    const { report, ms } = await attempt(harness, hostile, lies);
    expect(report).toMatchObject({ state: "failed", error: { name: "AuthError", code: "AUTH_FAILED" } });
    expect(report.authUrl).toBeUndefined();
    expect(ms).toBeLessThanOrEqual(atMost(1_000));
    expect(linesOf(hostile)).not.toContain("POST /register");
  });
}

faultCase("A11", "1,000 authorization servers", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  const others = await openHostile(harness);
  const many = Array.from({ length: 999 }, (_, index) => `${others.origin}/${index}`);
  const { report } = await attempt(harness, hostile, { authorizationServers: [hostile.origin, ...many] });
  expect(report.state).toBe("authenticating");
  // The first has no metadata: the client does not try the other 999 one by one.
  const last = await attempt(harness, hostile, { authorizationServers: [...many, hostile.origin] });
  expect(last.report).toMatchObject({ state: "failed", error: { code: "AUTH_FAILED" } });
  expect(others.seen.length).toBeLessThanOrEqual(4);
});

/** Headers, then nothing, or a byte now and then, until the test ends. */
const SILENCES: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "says nothing": () => {},
  "sends headers, then nothing": (response) => {
    response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  },
  "sends a byte a second": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 1_000);
    response.once("close", () => clearInterval(timer));
  },
};

faultCase(
  "A11",
  "metadata that never arrives or never ends",
  async (harness) => {
    const toolport = harness.open({});
    // In parallel: each takes ten seconds.
    const attempts = [SERVER_METADATA, RESOURCE_METADATA].flatMap((path) =>
      Object.entries(SILENCES).map(async ([name, silence]) => {
        const hostile = await openHostile(harness);
        const { report, ms } = await attempt(harness, hostile, { answer: { path, with: silence } });
        const expected = { state: "failed", error: { code: "AUTH_FAILED", retryable: true } };
        expect(report, `${path} ${name}`).toMatchObject(expected);
        expect(report.authUrl).toBeUndefined();
        expect(ms, `${path} ${name}`).toBeLessThanOrEqual(10_000 + 3_000);
      }),
    );
    await Promise.all(attempts);
    expect(toolport.snapshot().servers["neighbour"]).toMatchObject({ state: "ready" });
  },
  { timeoutMs: 120_000 },
);
