/** The database is locked, full, read-only, foreign, damaged or down: errors say so, and calls with valid tokens work. */
import { randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { createToolport, memoryStore, type Store, type Toolport } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { makeSqlitePlace, openStore, type StorePlace } from "../support/oauth-stores.js";
import { createTroubledStore } from "../support/oauth-troubled-store.js";
import { startPostgres, withoutPostgres } from "../support/postgres-service.js";
import { startRedis, withoutRedis } from "../support/redis-service.js";

afterEach(() => {
  vi.useRealTimers();
});

/** After this time cached records are read from the store again. */
function letMemoryAge(ms = 60_000): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() + ms);
}

interface OpenPort extends AsyncDisposable {
  readonly toolport: Toolport;
  readonly warnings: string[];
}

function openPort(bench: OAuthBench, store: Store, more: object = {}): OpenPort {
  const toolport = createToolport({
    mcpServers: { a: { url: bench.url }, ...more },
    callbackUrl: CALLBACK_URL,
    store,
  });
  const warnings: string[] = [];
  toolport.on("warning", ({ message }) => warnings.push(message));
  return {
    toolport,
    warnings,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await store.close();
    },
  };
}

const whoami = async ({ toolport }: OpenPort) => (await toolport.callTool("a__whoami")).text;

async function logInTo({ toolport }: OpenPort): Promise<void> {
  const { authUrl } = (await toolport.connect()).servers["a"] ?? {};
  await toolport.finishAuth("a", (await logIn(authUrl as string)).searchParams);
}

describe("SQLite", () => {
  test("locked by another: valid tokens are used, an expired one waits for a typed error, and everything works again later", async () => {
    await using bench = await startOAuthBench();
    using place = makeSqlitePlace();
    await using port = openPort(bench, sqliteStore(place.at, { key: place.key, busyTimeoutMs: 200 }));
    await logInTo(port);
    const other = new DatabaseSync(place.at);
    try {
      other.exec("BEGIN EXCLUSIVE");
      letMemoryAge();
      expect(await whoami(port)).toBe("ada");
      bench.expireAccessTokens();
      const error = await failure(port.toolport.callTool("a__whoami"));
      expect(error).toMatchObject({ name: "StateError", code: "BUSY", retryable: true });
      expect(bench.countTokens("refresh_token")).toBe(0);
      other.exec("ROLLBACK");
      expect(await whoami(port)).toBe("ada");
      expect(bench.countTokens("refresh_token")).toBe(1);
    } finally {
      other.close();
    }
  });

  test("another key: a typed error, nothing erased, and with the right key no login is needed", async () => {
    await using bench = await startOAuthBench();
    using place = makeSqlitePlace();
    {
      await using port = openPort(bench, openStore(place));
      await logInTo(port);
    }
    {
      const foreign = { ...place, key: randomBytes(32).toString("base64") };
      await using port = openPort(bench, openStore(foreign));
      const { state, error } = (await port.toolport.connect()).servers["a"] ?? {};
      expect({ state, error }).toMatchObject({
        state: "failed",
        error: { name: "StateError", code: "KEY_MISMATCH" },
      });
    }
    await using port = openPort(bench, openStore(place));
    expect(await whoami(port)).toBe("ada");
    expect(bench.countTokens()).toBe(1);
  });

  test("damaged: set aside with a warning, and a new login works", async () => {
    await using bench = await startOAuthBench();
    using place = makeSqlitePlace();
    writeFileSync(place.at, randomBytes(64 * 1024), { mode: 0o600 });
    const codes: string[] = [];
    const store = sqliteStore(place.at, { key: place.key, onWarning: ({ code }) => codes.push(code) });
    await using port = openPort(bench, store);
    await logInTo(port);
    expect(await whoami(port)).toBe("ada");
    expect(codes).toEqual(["CORRUPT_SET_ASIDE"]);
    expect(readdirSync(place.folder).some((name) => name.includes(".corrupt-"))).toBe(true);
  });
});

describe.each([
  ["FULL", "writes"],
  ["UNAVAILABLE", "writes"],
  ["UNAVAILABLE", "everything"],
] as const)("a store that says %s to %s", (code, what) => {
  test("valid tokens are used", async () => {
    await using bench = await startOAuthBench();
    const store = createTroubledStore(memoryStore());
    await using port = openPort(bench, store);
    await logInTo(port);
    store.trouble = { code, what };
    letMemoryAge();
    for (let calls = 0; calls < 10; calls++) expect(await whoami(port)).toBe("ada");
    expect(bench.countTokens("refresh_token")).toBe(0);
    // One warning, not one for every call.
    expect(port.warnings.length).toBeLessThanOrEqual(1);
    if (what === "everything") expect(port.warnings).toHaveLength(1);
  });

  test("an expired token: a typed error without a token request, because the result could not be saved", async () => {
    await using bench = await startOAuthBench();
    const store = createTroubledStore(memoryStore());
    await using port = openPort(bench, store);
    await logInTo(port);
    store.trouble = { code, what };
    bench.expireAccessTokens();
    expect(await failure(port.toolport.callTool("a__whoami"))).toMatchObject({ name: "StateError", code });
    expect(bench.countTokens("refresh_token")).toBe(0);
    store.trouble = undefined;
    expect(await whoami(port)).toBe("ada");
    expect(bench.countTokens("refresh_token")).toBe(1);
    expect(bench.revokedFamilies).toEqual([]);
  });

  test("a failure between refresh and saving: the new token is used, and saved when possible", async () => {
    await using bench = await startOAuthBench();
    const kept = memoryStore();
    const store = createTroubledStore(kept);
    await using port = openPort(bench, store);
    await logInTo(port);
    bench.expireAccessTokens();
    bench.onTokenRequest = (phase) => {
      if (phase === "answered") store.trouble = { code, what };
      return undefined;
    };
    expect(await whoami(port)).toBe("ada");
    expect(await whoami(port)).toBe("ada");
    expect(port.warnings.length).toBeGreaterThanOrEqual(1);
    bench.onTokenRequest = undefined;
    store.trouble = undefined;
    letMemoryAge();
    expect(await whoami(port)).toBe("ada");
    // Another process reads it: the rotated refresh token was not lost.
    await using other = createToolport({
      mcpServers: { a: { url: bench.url } },
      callbackUrl: CALLBACK_URL,
      store: kept,
    });
    expect((await other.callTool("a__whoami")).text).toBe("ada");
    expect(bench.countTokens("refresh_token")).toBe(1);
    expect(bench.revokedFamilies).toEqual([]);
  });

  test("no login starts that could not be finished", async () => {
    await using bench = await startOAuthBench();
    const store = createTroubledStore(memoryStore());
    store.trouble = { code, what };
    await using port = openPort(bench, store);
    const { state, error, authUrl } = (await port.toolport.connect()).servers["a"] ?? {};
    expect({ state, error }).toMatchObject({ state: "failed", error: { name: "StateError", code } });
    expect(authUrl).toBeUndefined();
    store.trouble = undefined;
    await logInTo(port);
    expect(await whoami(port)).toBe("ada");
  });
});

const services = [
  { name: "Redis", missing: withoutRedis, kind: "redis", start: startRedis },
  { name: "PostgreSQL", missing: withoutPostgres, kind: "postgres", start: startPostgres },
] as const;

describe.each(services)("$name", ({ missing, kind, start }) => {
  const placeOf = (url: string): StorePlace => ({ kind, at: url, key: randomBytes(32).toString("base64") });

  test.skipIf(missing)(
    "down at the start: servers without OAuth connect, the others report why, and connect later",
    async () => {
      await using bench = await startOAuthBench();
      await using plain = createTestServer({ tools: { hello: { handler: () => "hello" } } });
      const http = await plain.http();
      await using service = await start();
      await service.stop();
      await using port = openPort(bench, openStore(placeOf(service.url)), { plain: { url: http.url } });
      const startedAt = performance.now();
      const { servers } = await port.toolport.connect();
      expect(performance.now() - startedAt).toBeLessThan(150_000);
      expect(servers["plain"]).toMatchObject({ state: "ready" });
      expect((await port.toolport.callTool("plain__hello")).text).toBe("hello");
      expect(servers["a"]).toMatchObject({
        state: "failed",
        error: { name: "StateError", code: "UNAVAILABLE" },
      });
      expect(servers["a"]?.error?.message).not.toContain(service.password);
      expect(port.warnings.join("\n")).not.toContain(service.password);
      expect(port.warnings.length).toBeGreaterThan(0);
      await service.start();
      await logInTo(port);
      expect(await whoami(port)).toBe("ada");
    },
    60_000,
  );

  test.skipIf(missing)(
    "down during operation: valid tokens are used, an expired one has to wait for the database",
    async () => {
      await using bench = await startOAuthBench();
      await using service = await start();
      await using port = openPort(bench, openStore(placeOf(service.url)));
      await logInTo(port);
      await service.kill();
      letMemoryAge();
      const startedAt = performance.now();
      expect(await whoami(port)).toBe("ada");
      expect(performance.now() - startedAt).toBeLessThan(60_000);
      bench.expireAccessTokens();
      const error = await failure(port.toolport.callTool("a__whoami"));
      expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
      expect(bench.countTokens("refresh_token")).toBe(0);
      await service.start();
      expect(await whoami(port)).toBe("ada");
      expect(bench.countTokens("refresh_token")).toBe(1);
      expect(bench.revokedFamilies).toEqual([]);
    },
    60_000,
  );

  test.skipIf(missing)(
    "frozen during operation: valid tokens are used after one database timeout",
    async () => {
      await using bench = await startOAuthBench();
      await using service = await start();
      await using port = openPort(bench, openStore(placeOf(service.url)));
      await logInTo(port);
      service.pause();
      try {
        letMemoryAge();
        const startedAt = performance.now();
        expect(await Promise.all(Array.from({ length: 10 }, () => whoami(port)))).toEqual(
          Array(10).fill("ada"),
        );
        expect(performance.now() - startedAt).toBeLessThan(60_000);
        // And the next one does not wait again.
        const again = performance.now();
        expect(await whoami(port)).toBe("ada");
        expect(performance.now() - again).toBeLessThan(20_000);
      } finally {
        service.resume();
      }
    },
    60_000,
  );
});
