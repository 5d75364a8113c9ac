/** The store in PostgreSQL when PostgreSQL is in trouble, and when many processes share it. */
import pg from "pg";
import type { Store } from "toolport";
import { postgresStore } from "toolport/postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { holdGreeting } from "../support/hold-greeting.js";
import { openSockets, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { type PostgresService, startPostgres, withoutPostgres } from "../support/postgres-service.js";
import { countTogether, runWorker, storeSource, troubleOf } from "../support/shared-store.js";
import { waitFor } from "../support/wait-for.js";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const TOTAL = process.env.TOOLPORT_LONG ? 10_000 : 400;

const source = storeSource();
afterAll(source.remove);

describe.skipIf(withoutPostgres)("the store in postgres", () => {
  let postgres: PostgresService;
  const stores: Store[] = [];
  const open = (urlOrPool: string | pg.Pool = postgres.url, schema = "trouble"): Store => {
    const store = postgresStore(urlOrPool, { key: KEY, schema });
    stores.push(store);
    return store;
  };

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
  afterAll(() => postgres?.[Symbol.asyncDispose]());

  test("down at the start: a typed error, and it works once the server is there", async () => {
    await postgres.stop();
    const store = open();
    const error = await troubleOf(store.get("a"), postgres.password);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toContain(`127.0.0.1:${postgres.port}`);
    expect(error.message).toContain("ECONNREFUSED");
    await postgres.start();
    expect(await store.put("a", 1)).toBeGreaterThan(0);
  });

  test("dies in the middle: calls fail at once, then go on with what was committed", async () => {
    const store = open();
    const version = await store.put("a", "kept", { secret: true });
    await postgres.kill();
    const calls = [store.get("a"), store.put("a", 2), store.lease("l", { ttlMs: 1_000 })];
    for (const error of await Promise.all(calls.map((call) => troubleOf(call, postgres.password)))) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    }
    await postgres.start();
    expect(await store.get("a")).toEqual({ value: "kept", version, sealed: true });
    expect(await store.put("a", 2, { ifVersion: version })).toBeGreaterThan(version as number);
  });

  test("connections that the server ends are replaced", async () => {
    const store = open();
    await store.put("a", 1);
    const ended = await postgres.run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'toolport'",
    );
    expect(ended.rows.length).toBeGreaterThan(0);
    await waitFor(async () => (await store.get("a"))?.value === 1);
  });

  test.each(["by URL", "with a pool"])(
    "ended in the moment it is ready, %s: the next connection does the work",
    async (how) => {
      await using greeting = await holdGreeting(postgres.port);
      const url = postgres.url.replace(`:${postgres.port}`, `:${greeting.port}`);
      const pool = how === "by URL" ? undefined : new pg.Pool({ connectionString: url });
      const store = open(pool ?? url);
      const trouble = troubleOf(store.put("a", 1), postgres.password);
      await greeting.held;
      const ended = await postgres.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      );
      expect(ended.rows.length).toBeGreaterThan(0);
      expect(await trouble).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(await store.put("a", 1)).toBeGreaterThan(0);
      await store.close();
      await pool?.end();
    },
  );

  test.each(["by URL", "with a pool"])(
    "frozen, %s: every call ends in time, and calls after it work",
    async (how) => {
      const pool = how === "by URL" ? undefined : new pg.Pool({ connectionString: postgres.url });
      const store = open(pool);
      await store.put("a", 1);
      postgres.pause();
      try {
        const calls = Array.from({ length: 50 }, () => troubleOf(store.get("a"), postgres.password));
        for (const error of await Promise.all(calls)) expect(error.code).toBe("UNAVAILABLE");
      } finally {
        postgres.resume();
      }
      expect((await store.get("a"))?.value).toBe(1);
      await pool?.end();
    },
  );

  test("a wrong password is named as that, and shown nowhere", async () => {
    const wrong = "wrong-canary-91c2";
    const store = open(postgres.url.replace(postgres.password, wrong));
    const error = await troubleOf(store.put("a", 1), wrong);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("refused the login");
  });

  test("an address that is none of PostgreSQL is refused without being shown", () => {
    for (const url of ["redis://u:canary-91c2@host", "postgres://u:canary-91c2@ho st/x", "canary-91c2"]) {
      expect(() => postgresStore(url)).toThrow("is not a PostgreSQL URL");
      expect(() => postgresStore(url)).not.toThrow("canary-91c2");
    }
  });

  test("a read-only server is read; writes say why they fail, and work again after the failover", async () => {
    const store = open();
    await store.put("a", 1);
    const setReadOnly = async (value: string) => {
      await postgres.run(`alter system set default_transaction_read_only = ${value}`);
      await postgres.run("select pg_reload_conf()");
    };
    await setReadOnly("on");
    try {
      const error = await waitFor(() =>
        store.put("a", 2).then(
          () => undefined,
          () => troubleOf(store.put("a", 2), postgres.password),
        ),
      );
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(error.message).toContain("takes no writes");
      // Another process, which finds the tables there, reads as well.
      const value = (await open().get("a"))?.value;
      expect([1, 2]).toContain(value);
    } finally {
      await setReadOnly("off");
    }
    expect(await waitFor(() => store.put("a", 3))).toBeGreaterThan(0);
  });

  test("locked by somebody else: BUSY in time, and the write does not happen later", async () => {
    const store = open();
    await store.put("a", "before");
    const client = new pg.Client(postgres.url);
    await client.connect();
    await client.query("begin; lock table trouble.toolport_records in exclusive mode");
    const error = await troubleOf(store.put("a", "after"), postgres.password);
    expect(error).toMatchObject({ code: "BUSY", retryable: true });
    await client.query("commit");
    await client.end();
    expect((await store.get("a"))?.value).toBe("before");
  });

  test("a write under a lease waits for a grant that is under way, and is refused after it", async () => {
    const store = open();
    const version = await store.put("fenced", "before");
    const lease = await store.lease("l", { ttlMs: 60_000 });
    const client = new pg.Client(postgres.url);
    await client.connect();
    await client.query("begin; update trouble.toolport_leases set fence = fence + 1");
    const writes = [
      store.put("fenced", "late", { lease }),
      store.put("fenced", "late", { lease, ifVersion: version }),
    ];
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
    await waitFor(async () => (await postgres.run(waiting)).rows.length === 2, { timeoutMs: 3_000 });
    await client.query("commit");
    await client.end();
    expect(await Promise.all(writes)).toEqual([undefined, undefined]);
    expect((await store.get("fenced"))?.value).toBe("before");
  });

  test("tables of a newer Toolport are refused and left as they are", async () => {
    await open(postgres.url, "newer").put("a", 1);
    await postgres.run("insert into newer.toolport_migrations (version) values (99)");
    const error = await troubleOf(open(postgres.url, "newer").get("a"), postgres.password);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("version 99");
    expect((await postgres.run("select * from newer.toolport_records")).rows).toHaveLength(1);
  });

  test("tables that were dropped are made again", async () => {
    const store = open(postgres.url, "dropped");
    await store.put("a", 1);
    await postgres.run("drop schema dropped cascade");
    // Whoever notices first fails and has them made: this call, or the sweep that runs by itself.
    const first = await store.get("a").catch((error: unknown) => error);
    if (first !== undefined) expect(first).toMatchObject({ code: "UNAVAILABLE" });
    expect(await store.get("a")).toBeUndefined();
    expect(await store.put("a", 2)).toBeGreaterThan(0);
  });

  test("what expired or was deleted long ago is removed", async () => {
    await open(postgres.url, "swept").put("old", 1, { ttlMs: 1 });
    await open(postgres.url, "swept").lease("old", { ttlMs: 1 });
    await postgres.run("update swept.toolport_records set expires_at = now() - interval '2 hours'");
    await postgres.run("update swept.toolport_leases set expires_at = now() - interval '8 days'");
    await open(postgres.url, "swept").put("new", 1);
    const left = async () =>
      (
        await postgres.run(
          "select key from swept.toolport_records union all select name from swept.toolport_leases",
        )
      ).rows;
    await waitFor(async () => (await left()).length === 1);
    expect(await left()).toEqual([{ key: "new" }]);
  });

  test("keys are in the order of their bytes, whatever the database's own order is", async () => {
    try {
      await postgres.run(
        "create database words template template0 locale_provider icu icu_locale 'en-US' encoding 'UTF8'",
      );
    } catch {
      return; // a server without ICU, or too old for it
    }
    const store = open(postgres.url.replace(/postgres$/, "words"));
    for (const key of ["a", "B", "b", "A", "é", "_"]) await store.put(key, 1);
    expect(await store.list("")).toEqual(["A", "B", "_", "a", "b", "é"]);
  });

  test("without options the tables lie in the connection's own schema", async () => {
    await postgres.run("create schema own");
    const store = postgresStore(`${postgres.url}?options=-c%20search_path%3Down`);
    stores.push(store);
    await store.put("a", 1);
    const { rows } = await postgres.run(
      "select table_name from information_schema.tables where table_schema = 'own'",
    );
    const names = rows.map((row) => row.table_name).sort();
    expect(names).toEqual(["toolport_leases", "toolport_migrations", "toolport_records"]);
  });

  test("keys are as long as they like, and told of, and listed", async () => {
    const [store, other] = [open(), open()];
    const key = `long/${Array.from({ length: 3_000 }, () => crypto.randomUUID().slice(0, 4)).join("")}`;
    const told: string[] = [];
    store.watch("long/", (changed) => told.push(changed));
    await store.get("a");
    expect(await other.put(key, 1, { ifVersion: 0 })).toBeGreaterThan(0);
    expect(await other.put(key, 1, { ifVersion: 0 })).toBeUndefined();
    await waitFor(() => told.includes(key));
    expect(await store.list(key.slice(0, 5_000))).toEqual([key]);
    expect(await store.list(`${key.slice(0, 5_000)}x`)).toEqual([]);
    expect(await store.delete(key)).toBe(true);
  });

  test("watching goes on after the server was away, and tells what was missed", async () => {
    const [store, other] = [open(), open()];
    await other.put("w/deleted", 1);
    const told = new Set<string>();
    store.watch("w/", (key) => told.add(key));
    await other.put("w/1", 1);
    await waitFor(() => told.has("w/1"));
    told.clear();
    await postgres.kill();
    await postgres.start();
    await other.put("w/2", 1);
    await other.delete("w/deleted");
    await waitFor(() => told.has("w/2") && told.has("w/deleted"), { label: "what was missed to be told" });
    told.clear();
    await other.put("w/3", 1);
    await waitFor(() => told.has("w/3"), { label: "watching to go on" });
  });

  test("close leaves nothing behind, frozen or not, and is quick", async () => {
    const before = takeLeakSnapshot();
    for (const isFrozen of [false, true]) {
      const store = open();
      store.watch("", () => {});
      await Promise.all([store.put("a", 1), store.list(""), store.get("b")]);
      if (isFrozen) postgres.pause();
      try {
        const startedAt = performance.now();
        await Promise.all([store.close(), store.close()]);
        expect(performance.now() - startedAt).toBeLessThan(30_000);
        expect(openSockets()).toBe(before.sockets);
      } finally {
        postgres.resume();
      }
      await waitForNoLeaks(before);
    }
  });

  test("a pool of the user's is not ended, and keeps none of our listeners", async () => {
    const pool = new pg.Pool({ connectionString: postgres.url });
    const store = open(pool);
    store.watch("", () => {});
    await store.put("a", 1);
    await store.close();
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    expect(pool.listenerCount("error")).toBe(0);
    await pool.end();
  });

  test("secrets need a key, and the error says how to make one", async () => {
    const store = postgresStore(postgres.url);
    stores.push(store);
    await expect(store.put("s", 1, { secret: true })).rejects.toThrow("openssl rand -base64 32");
    expect(await store.put("s", 1)).toBeGreaterThan(0);
  });

  test(`eight processes, ${TOTAL} updates of one record: none is lost`, { timeout: 300_000 }, async () => {
    const result = await countTogether(
      { kind: "postgres", url: postgres.url, total: TOTAL, folder: source.folder },
      (name) => open(postgres.url, name),
    );
    if (process.env.TOOLPORT_LONG) console.log("PostgreSQL:", result);
    expect(result.value).toBe(TOTAL);
  });

  test("a process that forgets to close ends by itself", async () => {
    expect(await runWorker([source.folder, "postgres", postgres.url, "forgets", "forgets"])).toBe("done");
  });
});

test("without the package the error says how to get it", async () => {
  const apart = storeSource({ withPackages: false });
  try {
    const output = await runWorker([apart.folder, "postgres", "postgres://127.0.0.1:1/x", "x", "fails"]);
    expect(JSON.parse(output)).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("npm install pg"),
    });
  } finally {
    apart.remove();
  }
});
