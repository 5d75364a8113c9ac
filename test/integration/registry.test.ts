/** The registry client over a local registry that follows the OpenAPI file: every method, and its failures. */

import { once } from "node:events";
import { createServer } from "node:net";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { type Script, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { checkLeaksAfterEach } from "../support/leaks.js";
import { openApi, seedServers, useRegistry } from "../support/registry-server.js";

// Checked when the registry is closed: hooks after a test run in reverse order.
checkLeaksAfterEach();
const { registry, warnings, client, restart } = useRegistry();

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

const json =
  (value: unknown, status = 200): Script =>
  (_request, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

const status =
  (code: number, headers: Record<string, string> = {}): Script =>
  (_request, response) =>
    response.writeHead(code, headers).end("no");

describe("the local registry", () => {
  it.each([
    ["ServerList", "/v0.1/servers?limit=100"],
    ["ServerList", "/v0.1/servers/io.github.domdomegg%2Fairtable-mcp-server/versions"],
    ["ServerResponse", "/v0.1/servers/io.github.domdomegg%2Fairtable-mcp-server/versions/latest"],
  ])("answers with a %s of the OpenAPI file", async (name, path) => {
    const ajv = new Ajv2020.default({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema({ $id: "api", components: openApi.components });
    const check = ajv.compile({ $ref: `api#/components/schemas/${name}` });
    const answer = await (await fetch(`${registry.url}${path}`)).json();
    expect(check(answer), JSON.stringify(check.errors)).toBe(true);
  });
});

describe("listing", () => {
  it("reads one page", async () => {
    const page = await client().listServers({ limit: 2 });
    expect(page).toMatchObject({ count: 2, skipped: [], nextCursor: expect.any(String) });
    expect(page.servers[0]).toMatchObject({
      server: { name: "io.figma/mcp-server", packages: [{ registryType: "npm", packageArguments: [] }] },
      official: { status: "active", isLatest: true, publishedAt: "2026-01-01T00:00:00Z" },
      problems: [],
    });
    expect(page.stale).toBeUndefined();
    expect(registry.seen[0]).toMatchObject({
      path: "/v0.1/servers?limit=2",
      headers: { accept: "application/json", "user-agent": expect.stringMatching(/^toolport\/\d/) },
    });
  });

  it("reads all pages, page by page and as they are needed", async () => {
    const all = await collect(client().servers({ limit: 4 }));
    expect(all).toHaveLength(19);
    expect(new Set(all.map(({ server }) => `${server.name} ${server.version}`)).size).toBe(19);
    expect(registry.seen).toHaveLength(5);
    const [first] = await collect(client().pages());
    expect(first?.servers).toHaveLength(19);

    const asked = registry.seen.length;
    for await (const { server } of client().servers({ limit: 1 })) if (server.name !== "") break;
    expect(registry.seen).toHaveLength(asked + 1);
  });

  it("continues from a cursor", async () => {
    const { nextCursor } = await client().listServers({ limit: 10 });
    expect(await collect(client().servers({ cursor: nextCursor }))).toHaveLength(9);
  });

  it("searches, by version and by time", async () => {
    const names = async (options: object) =>
      (await client().listServers(options)).servers.map(({ server }) => `${server.name}@${server.version}`);
    expect(await names({ search: "airtable" })).toHaveLength(2);
    expect(await names({ search: "airtable", version: "latest" })).toEqual([
      "io.github.domdomegg/airtable-mcp-server@1.7.3",
    ]);
    expect(await names({ version: "1.7.2" })).toHaveLength(1);
    expect(await names({ updatedSince: new Date("2026-01-02") })).toEqual([]);
    expect(await names({ updatedSince: "2025-12-31T00:00:00+01:00" })).toHaveLength(19);
    expect(registry.seen.at(-1)?.path).toBe("/v0.1/servers?updated_since=2025-12-31T00%3A00%3A00%2B01%3A00");
  });

  it("shows deleted servers only on request", async () => {
    const [gone, kept] = seedServers;
    registry.setRecords([{ server: gone!, status: "deleted", statusMessage: "spam" }, { server: kept! }]);
    const statuses = async (options: object) =>
      (await client({ cache: false }).listServers(options)).servers.map(({ official }) => official?.status);
    expect(await statuses({})).toEqual(["active"]);
    expect(await statuses({ includeDeleted: true })).toEqual(["deleted", "active"]);
    expect(await statuses({ updatedSince: "2025-01-01T00:00:00Z" })).toEqual(["deleted", "active"]);
  });

  it.each([
    [{ limit: 0 }, "limit"],
    [{ limit: 1.5 }, "limit"],
    [{ updatedSince: "yesterday" }, "updatedSince"],
    [{ updatedSince: "2026-01-01" }, "updatedSince"],
    [{ updatedSince: new Date(Number.NaN) }, "updatedSince"],
    [{ updatedSince: "2026-01-01T00:00:00Z", includeDeleted: false }, "includeDeleted"],
  ])("refuses %j before it asks", async (options, path) => {
    const error = await failure(client().listServers(options));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENTS", outcome: "unsent", issues: [{ path }] });
    expect(registry.seen).toEqual([]);
  });

  it.each(["problem", "plain"] as const)("passes on the error of the registry (%s)", async (errors) => {
    await restart({ errors });
    const error = await failure(client().listServers({ limit: 101 }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENTS", server: new URL(registry.url).host });
    expect(error.what).toContain("expected number between 1 and 100");
    expect(registry.seen).toHaveLength(1);
  });

  it("tolerates answers without _meta and metadata", async () => {
    registry.intercept(json({ servers: [{ server: seedServers[0] }] }));
    const page = await client().listServers();
    expect(page).toMatchObject({ nextCursor: undefined, count: undefined });
    expect(page.servers[0]).toMatchObject({ official: undefined, _meta: {} });
  });

  it.each([null, ""])("treats the cursor %j as the end", async (nextCursor) => {
    registry.intercept(json({ servers: [], metadata: { nextCursor } }));
    expect(await collect(client().pages())).toHaveLength(1);
  });

  it("skips bad entries, and reports them", async () => {
    const bad = [null, { server: { name: "a/b" } }, { server: 1 }, { other: 1 }];
    registry.intercept(json({ servers: [...bad, { server: seedServers[0] }] }));
    const page = await client().listServers();
    expect(page.servers).toHaveLength(1);
    expect(page.skipped).toEqual([
      { index: 0, name: undefined, reason: "it is not an object" },
      { index: 1, name: "a/b", reason: "it has no version" },
      { index: 2, name: undefined, reason: "it is not an object" },
      { index: 3, name: undefined, reason: "it is not an object" },
    ]);
    expect(warnings).toMatchObject([{ kind: "skipped", skipped: { length: 4 } }]);
  });

  it("skips bad packages of good entries", async () => {
    const server = {
      ...seedServers[0],
      packages: [{ identifier: "x" }, ...(seedServers[0]!["packages"] as [])],
    };
    registry.intercept(json({ servers: [{ server }], metadata: 7 }));
    const [entry] = (await client().listServers()).servers;
    expect(entry?.server.packages).toHaveLength(1);
    expect(entry?.problems).toEqual(["packages[0]: has no registryType"]);
  });

  it("ends with an error when a cursor repeats", async () => {
    registry.intercept(json({ servers: [], metadata: { nextCursor: "same" } }), Number.POSITIVE_INFINITY);
    const error = await failure(collect(client().servers()));
    expect(error).toMatchObject({ code: "BAD_RESPONSE", what: "The registry repeats a cursor" });
    expect(registry.seen).toHaveLength(2);
  });

  it("ends with an error after too many pages", async () => {
    const error = await failure(collect(client().servers({ limit: 1, maxPages: 3 })));
    expect(error).toMatchObject({ code: "MESSAGE_TOO_LARGE", next: expect.stringContaining("maxPages") });
    expect(registry.seen).toHaveLength(3);
  });
});

describe("one server", () => {
  it("is found in its latest and in any version", async () => {
    const name = "io.github.domdomegg/airtable-mcp-server";
    expect((await client().getServer(name)).server.version).toBe("1.7.3");
    expect((await client().getServer(name, "1.7.2")).server.version).toBe("1.7.2");
    expect(registry.seen[0]?.path).toBe(
      "/v0.1/servers/io.github.domdomegg%2Fairtable-mcp-server/versions/latest",
    );
    const { servers, count } = await client().getServerVersions(name);
    expect(servers.map(({ server }) => server.version)).toEqual(["1.7.3", "1.7.2"]);
    expect(count).toBe(2);
  });

  it("encodes names and versions", async () => {
    await failure(client().getServer("a/b?c#d", "1.0.0+20130313"));
    expect(registry.seen[0]?.path).toBe("/v0.1/servers/a%2Fb%3Fc%23d/versions/1.0.0%2B20130313");
    for (const name of ["", ".", ".."]) {
      expect(await failure(client().getServer(name))).toMatchObject({ code: "INVALID_ARGUMENTS" });
    }
    expect(registry.seen).toHaveLength(1);
  });

  it.each(["problem", "plain"] as const)("is reported as unknown (%s)", async (errors) => {
    await restart({ errors });
    const unknown = { code: "UNKNOWN_SERVER", name: "ConfigError" };
    expect(await failure(client().getServer("a/b", "1.0.0"))).toMatchObject({
      ...unknown,
      what: 'The registry has no server "a/b" in the version "1.0.0"',
    });
    expect(await failure(client().getServerVersions("a/b"))).toMatchObject(unknown);
    expect(registry.seen).toHaveLength(2);
  });

  it("is not reported as unknown if there is no registry at the URL", async () => {
    registry.intercept(status(404));
    const error = await failure(client().getServer("a/b"));
    expect(error).toMatchObject({
      code: "HTTP_STATUS",
      status: 404,
      next: expect.stringContaining("baseUrl"),
    });
  });

  it("may be deleted", async () => {
    registry.setRecords([{ server: seedServers[0]!, status: "deleted", statusMessage: "spam" }]);
    const name = seedServers[0]!.name;
    expect(await failure(client().getServer(name))).toMatchObject({ code: "UNKNOWN_SERVER" });
    const { official } = await client().getServer(name, "latest", { includeDeleted: true });
    expect(official).toMatchObject({ status: "deleted", statusMessage: "spam" });
    expect((await client().getServerVersions(name, { includeDeleted: true })).servers).toHaveLength(1);
  });
});

describe("the registry itself", () => {
  it("returns its health and version, and answers a ping", async () => {
    expect(await client().health()).toEqual({ status: "ok" });
    expect(await client().ping()).toEqual({ pong: true });
    expect(await client().version()).toMatchObject({ version: "1.2.3" });
    expect(registry.seen.map(({ path }) => path)).toEqual(["/v0.1/health", "/v0.1/ping", "/v0.1/version"]);
  });

  it("gets one request for each call", async () => {
    const asking = client();
    await asking.ping();
    registry.intercept(status(503));
    expect(await failure(asking.ping())).toMatchObject({ code: "HTTP_STATUS", status: 503 });
    expect(await asking.ping()).toEqual({ pong: true });
    expect(registry.seen).toHaveLength(3);
  });

  it.each([
    ["", "/v0.1/ping"],
    ["/", "/v0.1/ping"],
    ["/sub//", "/sub/v0.1/ping"],
    ["/v0", "/v0/ping"],
    ["/x/v0.1/", "/x/v0.1/ping"],
  ])("is found at %j", async (path, expected) => {
    await client({ baseUrl: `${registry.url}${path}` })
      .ping()
      .catch(() => {});
    expect(registry.seen[0]?.path).toBe(expected);
  });

  it.each(["nonsense", "ftp://example.com", "https://a:b@example.com", "https://example.com?x=1"])(
    "is refused at %j",
    (baseUrl) => {
      expect(() => client({ baseUrl })).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
    },
  );
});

describe("a registry elsewhere", () => {
  it("is not followed to another origin", async () => {
    const other = await startScriptedServer((_request, response) => response.end("{}"), "127.0.0.2");
    try {
      registry.intercept(status(307, { location: `${other.url}/v0.1/servers` }));
      const error = await failure(client({ headers: { "x-token": "canary" } }).listServers());
      expect(error).toMatchObject({ code: "ADDRESS_REFUSED", retryable: false });
      expect(other.seen).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it("is followed on its own origin, a few times", async () => {
    registry.intercept(status(308, { location: "/v0/servers?limit=1" }));
    expect((await client().listServers()).servers).toHaveLength(1);
    registry.intercept(status(302, { location: "/again" }), Number.POSITIVE_INFINITY);
    expect(await failure(client().listServers())).toMatchObject({ code: "ADDRESS_REFUSED" });
    expect(registry.seen).toHaveLength(8);
  });

  it("has another error than an unreachable one", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as { port: number };
    closed.close();
    const error = await failure(client({ baseUrl: `http://127.0.0.1:${port}` }).listServers());
    expect(error).toMatchObject({ code: "UNREACHABLE", errno: "ECONNREFUSED", server: `127.0.0.1:${port}` });
  });
});
