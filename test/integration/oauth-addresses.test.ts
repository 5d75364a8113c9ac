/** Whatever address a server names for its authorization: no request of ours reaches a private one, and no browser a wild one. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { type ConnectReport, createToolport, type OAuthOptions } from "toolport";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import {
  type Canary,
  type HostileServer,
  type Lies,
  startCanary,
  startHostileServer,
} from "../support/oauth-hostile-server.js";

/** At 127.0.0.3, so that all other addresses of this machine are somebody else's. */
let hostile: HostileServer;
/** At 127.0.0.1, where logins go through. */
let near: HostileServer;
let canary: Canary;
beforeAll(async () => {
  [hostile, near, canary] = await Promise.all([
    startHostileServer("127.0.0.3"),
    startHostileServer("127.0.0.1"),
    startCanary(),
  ]);
});
afterAll(() => Promise.all([hostile, near, canary].map((server) => server[Symbol.asyncDispose]())));
beforeEach(() => {
  hostile.seen.length = near.seen.length = 0;
});

/** Spellings of addresses on this machine or in private networks. The server itself is at 127.0.0.3. */
const HOSTS = [
  "127.0.0.1",
  "127.0.0.2",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "017700000001",
  "0.0.0.0",
  "0",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "app.localhost",
  "127.0.0.1.",
  "１２７.０.０.１",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "169.254.169.254",
] as const;

/** The fields of the metadata that lead somewhere, each with an address put in. */
const FIELDS: Readonly<Record<string, (origin: string) => Lies>> = {
  resource_metadata: (origin) => ({ resourceMetadata: `${origin}/.well-known/oauth-protected-resource` }),
  authorization_servers: (origin) => ({ authorizationServers: [origin] }),
  authorization_endpoint: (origin) => ({ metadata: { authorization_endpoint: `${origin}/authorize` } }),
  token_endpoint: (origin) => ({ metadata: { token_endpoint: `${origin}/token` } }),
  registration_endpoint: (origin) => ({ metadata: { registration_endpoint: `${origin}/register` } }),
};

/** Connects, and carries a login to its end where one is offered. */
async function tryToLogIn(lies: Lies, server = hostile, oauth?: OAuthOptions) {
  server.lies = lies;
  const entry = { url: server.url, ...(oauth && { oauth }) };
  await using toolport = createToolport({ mcpServers: { a: entry }, callbackUrl: CALLBACK_URL });
  const report = (await toolport.connect()).servers["a"] as ConnectReport["servers"][string];
  let finished: unknown;
  if (report.authUrl !== undefined) {
    const state = new URL(report.authUrl).searchParams.get("state") ?? "";
    const back = new URLSearchParams({ code: "made-up", state, iss: server.origin });
    finished = await toolport.finishAuth("a", back).catch((error: unknown) => error);
  }
  return { report, finished };
}

test("the canary sees who comes, and an honest server is logged in to", async () => {
  const before = canary.hits;
  await fetch(`http://127.0.0.1:${canary.port}/`);
  expect(canary.hits).toBe(before + 1);
  const { report } = await tryToLogIn({}, near);
  expect(report).toMatchObject({ state: "authenticating", authUrl: expect.stringContaining(near.origin) });
  expect(near.seen.map(({ line }) => line)).toContain("POST /token");
});

describe.each(Object.keys(FIELDS))("a private address in %s", (field) => {
  test.each(HOSTS)("%s", async (host) => {
    const before = canary.hits;
    for (const scheme of ["http", "https"]) {
      const { report, finished } = await tryToLogIn(FIELDS[field]!(`${scheme}://${host}:${canary.port}`));
      if (report.authUrl === undefined) {
        expect(report.error).toMatchObject({
          code: expect.stringMatching(/^(ADDRESS_REFUSED|AUTH_FAILED)$/),
        });
      } else {
        // Only what the server says of itself was used.
        expect(new URL(report.authUrl).origin).toBe(hostile.origin);
        if (field !== "resource_metadata") {
          const code =
            scheme === "https" ? "ADDRESS_REFUSED" : expect.stringMatching(/^(ADDRESS_REFUSED|AUTH_FAILED)$/);
          expect(finished).toMatchObject({ code });
        }
      }
    }
    expect(canary.hits).toBe(before);
  });
});

test("a private host that was named in allowedHosts may be asked", async () => {
  const before = canary.hits;
  const allowed = `127.0.0.2:${canary.port}`;
  await tryToLogIn(FIELDS["registration_endpoint"]!(`http://${allowed}`), near, { allowedHosts: [allowed] });
  expect(canary.hits).toBeGreaterThan(before);
});

describe("redirects", () => {
  const paths = [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/register",
    "/token",
  ];
  test.each(paths.flatMap((path) => [301, 302, 303, 307, 308].map((status) => [path, status] as const)))(
    "%s answers %i to the canary",
    async (path, status) => {
      const before = canary.hits;
      await tryToLogIn({ redirect: { path, status, to: `http://127.0.0.2:${canary.port}/` } }, near);
      expect(near.seen.map(({ line }) => line.split(" ")[1])).toContain(path);
      expect(canary.hits).toBe(before);
    },
  );
});

describe("a resolver that changes its mind", () => {
  /** Given with the wrong family: it passes for public, and the connection fails before a packet is sent. */
  const PUBLIC = "8.8.8.8";
  const { lookup } = dns;
  let answers: string[] = [];
  let asked = 0;
  beforeAll(() => {
    const resolve = (
      hostname: string,
      options: dns.LookupOptions,
      callback: (...args: unknown[]) => void,
    ) => {
      if (hostname !== "rebinding.example") return lookup(hostname, options, callback as never);
      const address = answers[Math.min(asked++, answers.length - 1)] as string;
      const family = address === PUBLIC || address.includes(":") ? 6 : 4;
      const answer = options.all ? [[{ address, family }]] : [address, family];
      setImmediate(callback, null, ...answer);
    };
    dns.lookup = resolve as never;
    syncBuiltinESMExports();
  });
  afterAll(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });

  test.each([
    ["private at once", ["127.0.0.1"]],
    ["private at the second look", [PUBLIC, "127.0.0.1"]],
    ["mapped into IPv6", ["::ffff:127.0.0.1"]],
    ["public, then mapped", [PUBLIC, "::ffff:7f00:1"]],
  ])(
    "%s",
    async (_name, given) => {
      const before = canary.hits;
      for (const field of Object.keys(FIELDS)) {
        [answers, asked] = [given, 0];
        await tryToLogIn(FIELDS[field]!(`https://rebinding.example:${canary.port}`));
      }
      expect(canary.hits).toBe(before);
    },
    60_000,
  );
});

describe("a login page that no browser may be sent to", () => {
  test.each([
    "javascript:alert(document.cookie)",
    "JaVaScRiPt:alert(1)//https://example.com/",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    "vbscript:msgbox(1)",
    "ms-msdt:/id PCWDiagnostic",
    "vscode://file/etc/passwd",
    "blob:https://example.com/1",
    "about:blank",
    "chrome://settings",
    "smb://example.com/share",
    "mailto:ada@example.com",
    "ftp://example.com/authorize",
    "http://example.com/authorize",
    "https://user@example.com/authorize",
    "https://user:secret@example.com/authorize",
    "https://example.com/authorize\r\nX-Injected: yes",
    'https://example.com/authorize?"$(touch owned)"',
    "https://example.com/authorize?`touch owned`",
    "https://example.com/authorize;touch owned",
    "https://example.com/authorize|calc.exe",
    "//example.com/authorize",
    "/authorize",
    "",
    42,
    null,
  ])("%j", async (endpoint) => {
    const { report } = await tryToLogIn({ metadata: { authorization_endpoint: endpoint } });
    expect(report.authUrl).toBeUndefined();
    expect(report.state).toBe("failed");
    expect(report.error).toMatchObject({ name: "AuthError" });
    expect(report.error?.message).not.toContain("owned");
    expect(hostile.seen.map(({ line }) => line)).not.toContain("POST /token");
  });
});

test.each([
  "https://example.com/\nauthorize",
  " https://example.com/authorize",
  "https://example.com/\tauthorize",
])("blanks and line breaks never reach a browser: %j", async (endpoint) => {
  const { report } = await tryToLogIn({ metadata: { authorization_endpoint: endpoint } });
  expect(report.authUrl ?? "https://example.com/authorize?").toMatch(
    /^https:\/\/example\.com\/authorize\?\S*$/,
  );
});

describe("metadata that may not be trusted", () => {
  const cases: Readonly<Record<string, { lies: () => Lies; code?: string }>> = {
    "another issuer than the one asked for": {
      lies: () => ({ metadata: { issuer: "https://honest.example" } }),
      code: "ISSUER_MISMATCH",
    },
    "the issuer with a slash more": {
      lies: () => ({ metadata: { issuer: `${hostile.origin}/` } }),
      code: "ISSUER_MISMATCH",
    },
    "no PKCE advertised": { lies: () => ({ metadata: { code_challenge_methods_supported: undefined } }) },
    "only plain PKCE": { lies: () => ({ metadata: { code_challenge_methods_supported: ["plain"] } }) },
    "a description for another resource": {
      lies: () => ({ resource: { resource: "https://other.example/mcp" } }),
    },
    "an authorization server that is not there": {
      lies: () => ({ authorizationServers: [`${hostile.origin}/x`] }),
    },
    "five megabytes of metadata": {
      lies: () => ({ metadata: { padding: "x".repeat(5 * 1024 * 1024) } }),
    },
    "a page instead of metadata": {
      lies: () => ({
        answer: {
          path: "/.well-known/oauth-authorization-server",
          with: (response) =>
            response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>"),
        },
      }),
    },
    "an array instead of metadata": {
      lies: () => ({
        answer: {
          path: "/.well-known/oauth-authorization-server",
          with: (response) => response.writeHead(200, { "content-type": "application/json" }).end("[1]"),
        },
      }),
    },
  };

  test.each(Object.keys(cases))("%s", async (name) => {
    const { lies, code } = cases[name]!;
    const { report } = await tryToLogIn(lies());
    expect(report.authUrl).toBeUndefined();
    expect(report.error).toMatchObject({ name: "AuthError", ...(code !== undefined && { code }) });
    expect(hostile.seen.map(({ line }) => line)).not.toContain("POST /register");
  });

  test("a thousand authorization servers, of which the first is honest, cost no more than one", async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `http://127.0.0.2:${canary.port}/${index}`);
    const before = canary.hits;
    const { report } = await tryToLogIn({ authorizationServers: [hostile.origin, ...many] });
    expect(report.state).toBe("authenticating");
    expect(canary.hits).toBe(before);
  });
});
