/** Duties of metadata checks: S1, S3, S5, S7, S10. */
import diagnostics from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { beforeAll, expect } from "vitest";
import { ADDRESS_FIELDS, addressFields, type LoginAttempt } from "../support/oauth-hostile-addresses.js";
import { type HostileServer, type Lies, startCanary } from "../support/oauth-hostile-server.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { attempt, disposeAtEnd, linesOf, openHostile, warmUpOAuth } from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

/** Refused, without a login page and without a request to the authorization server. */
function expectRefused({ report }: LoginAttempt, hostile: HostileServer, code: string | RegExp): void {
  expect(report.state).toBe("failed");
  expect(report.authUrl).toBeUndefined();
  expect(report.error?.name).toBe("AuthError");
  expect(report.error?.code).toMatch(code);
  expect(linesOf(hostile).filter((line) => line.startsWith("POST") && line !== "POST /mcp")).toEqual([]);
}

const SCHEMES = [
  "javascript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "vbscript:x",
  "ms-msdt:/id",
  "vscode://file/x",
  "blob:https://example.com/x",
  "about:blank",
  "ftp://example.com/authorize",
  "ws://example.com/authorize",
  "intent://example.com/#Intent;end",
  "http://example.com/authorize",
];

faultCase("S1", `${SCHEMES.length} schemes are refused`, async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  for (const page of SCHEMES) {
    const tried = await attempt(harness, hostile, { metadata: { authorization_endpoint: page } });
    expectRefused(tried, hostile, "AUTH_FAILED");
  }
});

faultCase("S1", "accepts https: anywhere and http: on this machine", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  for (const page of ["https://example.com/authorize", `${hostile.origin}/authorize`]) {
    const { report } = await attempt(harness, hostile, { metadata: { authorization_endpoint: page } });
    expect(report.authUrl).toMatch(new RegExp(`^${page}\\?`));
  }
});

const ISSUERS: Readonly<Record<string, (origin: string) => unknown>> = {
  "an honest server's": () => "https://honest.example",
  "a slash more": (origin) => `${origin}/`,
  "another case": (origin) => origin.toUpperCase(),
  "a path more": (origin) => `${origin}/tenant`,
};

faultCase("S3", Object.keys(ISSUERS).join(", "), async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  for (const make of Object.values(ISSUERS)) {
    const tried = await attempt(harness, hostile, { metadata: { issuer: make(hostile.origin) } });
    expectRefused(tried, hostile, "ISSUER_MISMATCH");
    // The metadata document was the last request.
    expect(linesOf(hostile).at(-1)).toBe(`GET ${OAUTH}`);
  }
});

const METHODS: Readonly<Record<string, unknown>> = {
  absent: undefined,
  empty: [],
  "only plain": ["plain"],
  "in other letters": ["s256"],
};

faultCase("S5", `methods ${Object.keys(METHODS).join(", ")}, in OAuth metadata`, async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  for (const methods of Object.values(METHODS)) {
    const lies: Lies = { metadata: { code_challenge_methods_supported: methods } };
    expectRefused(await attempt(harness, hostile, lies), hostile, "AUTH_FAILED");
  }
});

/** Has OpenID metadata only. */
const openId = (origin: string, more: object = {}): Lies => ({
  answer: {
    path: OPENID,
    with: (response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          jwks_uri: `${origin}/jwks`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
          ...more,
        }),
      ),
  },
  redirect: { path: OAUTH, status: 404, to: "" },
});

faultCase("S5", "methods absent, in OpenID metadata", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  expectRefused(await attempt(harness, hostile, openId(hostile.origin)), hostile, "AUTH_FAILED");
  expect(linesOf(hostile)).toContain(`GET ${OPENID}`);
});

faultCase("S5", "S256 in OpenID metadata is used", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  const lies = openId(hostile.origin, { code_challenge_methods_supported: ["plain", "S256"] });
  const { searchParams } = new URL((await attempt(harness, hostile, lies)).report.authUrl as string);
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  expect(searchParams.get("code_challenge")).toHaveLength(43);
});

const RESOURCES: Readonly<Record<string, (origin: string) => unknown>> = {
  "another host": () => "https://other.example/mcp",
  "another port": (origin) => `${origin}1/mcp`,
  "another path": (origin) => `${origin}/other`,
  "a path that only begins alike": (origin) => `${origin}/mc`,
  "a longer path": (origin) => `${origin}/mcp/tenant`,
  "not a URL": () => "mcp",
};

faultCase("S7", Object.keys(RESOURCES).join(", "), async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  for (const make of Object.values(RESOURCES)) {
    const tried = await attempt(harness, hostile, { resource: { resource: make(hostile.origin) } });
    expectRefused(tried, hostile, "AUTH_FAILED");
  }
  expect(linesOf(hostile)).not.toContain(`GET ${OAUTH}`);
});

/** Hosts in private networks, each in another form. */
const FORBIDDEN = [
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.254",
  "192.168.1.1",
  "127.0.0.2",
  "127.1",
  "2130706434",
  "0x7f000002",
  "0177.0.0.2",
  "0.0.0.0",
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "100.64.0.1",
  "[::ffff:a9fe:a9fe]",
  "[::ffff:10.0.0.1]",
  "[::]",
  "[fc00::1]",
  "[fd12:3456::1]",
  "[fe80::1]",
  "[64:ff9b::a9fe:a9fe]",
  "localhost.localdomain",
  "printer.local",
  "metadata.google.internal",
];

/** Every host that this process sends a request to, except those. */
function watchRequests(harness: FaultHarness, known: readonly string[]): string[] {
  const hosts: string[] = [];
  const onRequest = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    if (!known.includes(request.host)) hosts.push(request.host);
  };
  diagnostics.subscribe("http.client.request.start", onRequest);
  harness.atEnd(() => diagnostics.unsubscribe("http.client.request.start", onRequest));
  return hosts;
}

for (const field of addressFields) {
  faultCase("S10", `${FORBIDDEN.length} forms in ${field}`, async (harness) => {
    harness.open({});
    const hostile = await openHostile(harness, "127.0.0.3");
    const hosts = watchRequests(harness, [new URL(hostile.origin).hostname]);
    for (const host of FORBIDDEN) {
      const { report, finished } = await attempt(harness, hostile, ADDRESS_FIELDS[field](`https://${host}`));
      const error = report.authUrl === undefined ? report.error : finished;
      if (field !== "resource_metadata" || report.authUrl === undefined)
        expect(error, host).toMatchObject({ code: expect.stringMatching(/^(ADDRESS_REFUSED|AUTH_FAILED)$/) });
    }
    expect(hosts).toEqual([]);
  });
}

faultCase("S10", "every hop of a redirect is checked again", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  const canary = disposeAtEnd(harness, await startCanary());
  // A redirect within one origin may be followed; its target is checked like the first address.
  const lies: Lies = {
    redirect: { path: OAUTH, status: 302, to: "/hop" },
    answer: {
      path: "/hop",
      with: (response) => response.writeHead(302, { location: `http://127.0.0.2:${canary.port}/` }).end(),
    },
  };
  const tried = await attempt(harness, hostile, lies);
  expectRefused(tried, hostile, /^(AUTH_FAILED|ADDRESS_REFUSED)$/);
  expect(canary.hits).toBe(0);
});
