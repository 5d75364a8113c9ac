/** Addresses that a server names for its authorization: no request reaches a private one, and no browser opens an unsafe one. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  ADDRESS_FIELDS,
  addressFields,
  installRebindingResolver,
  PRIVATE_HOSTS,
  REBINDING_HOST,
  REBINDINGS,
  REDIRECTING_PATHS,
  type RebindingResolver,
  tryToLogIn,
  WILD_LOGIN_PAGES,
} from "../support/oauth-hostile-addresses.js";
import { type Lies, startCanary, startHostileServer } from "../support/oauth-hostile-server.js";
import { useServer } from "../support/use-server.js";

/** At 127.0.0.3, so that all other addresses of this machine count as foreign. */
const hostile = useServer(() => startHostileServer("127.0.0.3"));
/** At 127.0.0.1, where logins are allowed. */
const near = useServer(() => startHostileServer("127.0.0.1"));
const canary = useServer(startCanary);
beforeEach(() => {
  hostile.seen.length = near.seen.length = 0;
});

test("the canary counts connections, and a login at an honest server works", async () => {
  const before = canary.hits;
  await fetch(`http://127.0.0.1:${canary.port}/`);
  expect(canary.hits).toBe(before + 1);
  const { report } = await tryToLogIn(near, {});
  expect(report).toMatchObject({ state: "authenticating", authUrl: expect.stringContaining(near.origin) });
  expect(near.seen.map(({ line }) => line)).toContain("POST /token");
});

describe.each(addressFields)("a private address in %s", (field) => {
  test.each(PRIVATE_HOSTS)("%s", async (host) => {
    const before = canary.hits;
    for (const scheme of ["http", "https"]) {
      const { report, finished } = await tryToLogIn(
        hostile,
        ADDRESS_FIELDS[field](`${scheme}://${host}:${canary.port}`),
      );
      if (report.authUrl === undefined) {
        expect(report.error).toMatchObject({
          code: expect.stringMatching(/^(ADDRESS_REFUSED|AUTH_FAILED)$/),
        });
      } else {
        // Only addresses of the server itself were used.
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

test("a private host in allowedHosts may be used", async () => {
  const before = canary.hits;
  const allowed = `127.0.0.2:${canary.port}`;
  await tryToLogIn(near, ADDRESS_FIELDS.registration_endpoint(`http://${allowed}`), {
    allowedHosts: [allowed],
  });
  expect(canary.hits).toBeGreaterThan(before);
});

describe("redirects", () => {
  test.each(
    REDIRECTING_PATHS.flatMap((path) => [301, 302, 303, 307, 308].map((status) => [path, status] as const)),
  )("%s answers %i to the canary", async (path, status) => {
    const before = canary.hits;
    await tryToLogIn(near, { redirect: { path, status, to: `http://127.0.0.2:${canary.port}/` } });
    expect(near.seen.map(({ line }) => line.split(" ")[1])).toContain(path);
    expect(canary.hits).toBe(before);
  });
});

describe("a resolver that changes its answer", () => {
  let resolver: RebindingResolver;
  beforeAll(() => {
    resolver = installRebindingResolver();
  });
  afterAll(() => resolver[Symbol.dispose]());

  test.each(Object.entries(REBINDINGS))(
    "%s",
    async (_name, given) => {
      const before = canary.hits;
      for (const field of addressFields) {
        resolver.answer(given);
        await tryToLogIn(hostile, ADDRESS_FIELDS[field](`https://${REBINDING_HOST}:${canary.port}`));
      }
      expect(canary.hits).toBe(before);
    },
    60_000,
  );
});

describe("a login page that no browser may open", () => {
  test.each(WILD_LOGIN_PAGES)("%j", async (endpoint) => {
    const { report } = await tryToLogIn(hostile, { metadata: { authorization_endpoint: endpoint } });
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
])("spaces and line breaks never reach a browser: %j", async (endpoint) => {
  const { report } = await tryToLogIn(hostile, { metadata: { authorization_endpoint: endpoint } });
  expect(report.authUrl ?? "https://example.com/authorize?").toMatch(
    /^https:\/\/example\.com\/authorize\?\S*$/,
  );
});

describe("untrusted metadata", () => {
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
    const { report } = await tryToLogIn(hostile, lies());
    expect(report.authUrl).toBeUndefined();
    expect(report.error).toMatchObject({ name: "AuthError", ...(code !== undefined && { code }) });
    expect(hostile.seen.map(({ line }) => line)).not.toContain("POST /register");
  });

  test("a thousand authorization servers with an honest first one cause no more requests than one", async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `http://127.0.0.2:${canary.port}/${index}`);
    const before = canary.hits;
    const { report } = await tryToLogIn(hostile, { authorizationServers: [hostile.origin, ...many] });
    expect(report.state).toBe("authenticating");
    expect(canary.hits).toBe(before);
  });
});
