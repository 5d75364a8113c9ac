/** Faults of the store in PostgreSQL: those that every database server can have, and those of PostgreSQL. */
import pg from "pg";
import { postgresStore } from "toolport/postgres";
import { describe, expect, test } from "vitest";
import { postgresServer } from "../contract/server-stores.js";
import { testMissingPackage, testServerFaults, useStoreServer } from "../contract/store-on-server.js";
import { holdGreeting } from "../support/hold-greeting.js";
import { withoutPostgres } from "../support/postgres-service.js";
import { troubleOf } from "../support/shared-store.js";
import { waitFor } from "../support/wait-for.js";

describe.skipIf(withoutPostgres)("the store in postgres", () => {
  const server = useStoreServer(postgresServer);
  const { open } = server;
  const trouble = (call: Promise<unknown>) => troubleOf(call, server.service.password);
  const run = (sql: string) => server.service.run(sql);

  testServerFaults(server);

  test("replaces connections that the server ends", async () => {
    const store = open();
    await store.put("a", 1);
    const ended = await run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'toolport'",
    );
    expect(ended.rows.length).toBeGreaterThan(0);
    await waitFor(async () => (await store.get("a"))?.value === 1);
  });

  test.each(["by URL", "with a pool"])(
    "%s: replaces a connection that ends at the moment it becomes ready",
    async (how) => {
      await using greeting = await holdGreeting(server.service.port);
      const url = server.service.url.replace(`:${server.service.port}`, `:${greeting.port}`);
      const pool = how === "by URL" ? undefined : new pg.Pool({ connectionString: url });
      const store = open(pool ?? url);
      const failed = trouble(store.put("a", 1));
      await greeting.held;
      const ended = await run(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      );
      expect(ended.rows.length).toBeGreaterThan(0);
      expect(await failed).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(await store.put("a", 1)).toBeGreaterThan(0);
      await store.close();
      await pool?.end();
    },
  );

  test("reads from a read-only server, says why writes fail, and writes again after the failover", async () => {
    const store = open();
    await store.put("a", 1);
    const setReadOnly = async (value: string) => {
      await run(`alter system set default_transaction_read_only = ${value}`);
      await run("select pg_reload_conf()");
    };
    await setReadOnly("on");
    try {
      const error = await waitFor(() =>
        store.put("a", 2).then(
          () => undefined,
          () => trouble(store.put("a", 2)),
        ),
      );
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(error.message).toContain("does not accept writes");
      // Another process, which finds the tables there, reads as well.
      const value = (await open().get("a"))?.value;
      expect([1, 2]).toContain(value);
    } finally {
      await setReadOnly("off");
    }
    expect(await waitFor(() => store.put("a", 3))).toBeGreaterThan(0);
  });

  test("fails with BUSY while another client locks the table, and does not write later", async () => {
    const store = open();
    await store.put("a", "before");
    const client = new pg.Client(server.service.url);
    await client.connect();
    await client.query("begin; lock table trouble.toolport_records in exclusive mode");
    const error = await trouble(store.put("a", "after"));
    expect(error).toMatchObject({ code: "BUSY", retryable: true });
    await client.query("commit");
    await client.end();
    expect((await store.get("a"))?.value).toBe("before");
  });

  test("refuses a write under a lease that another transaction is about to grant again", async () => {
    const store = open();
    const version = await store.put("fenced", "before");
    const lease = await store.lease("l", { ttlMs: 60_000 });
    const client = new pg.Client(server.service.url);
    await client.connect();
    await client.query("begin; update trouble.toolport_leases set fence = fence + 1");
    const writes = [
      store.put("fenced", "late", { lease }),
      store.put("fenced", "late", { lease, ifVersion: version }),
    ];
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
    await waitFor(async () => (await run(waiting)).rows.length === 2);
    await client.query("commit");
    await client.end();
    expect(await Promise.all(writes)).toEqual([undefined, undefined]);
    expect((await store.get("fenced"))?.value).toBe("before");
  });

  test("refuses tables of a newer Toolport and leaves them unchanged", async () => {
    await open(server.service.url, "newer").put("a", 1);
    await run("insert into newer.toolport_migrations (version) values (99)");
    const error = await trouble(open(server.service.url, "newer").get("a"));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("version 99");
    expect((await run("select * from newer.toolport_records")).rows).toHaveLength(1);
  });

  test("creates dropped tables again", async () => {
    const store = open(server.service.url, "dropped");
    await store.put("a", 1);
    await run("drop schema dropped cascade");
    // The first call that notices fails and creates them: this call, or the background sweep.
    const first = await store.get("a").catch((error: unknown) => error);
    if (first !== undefined) expect(first).toMatchObject({ code: "UNAVAILABLE" });
    expect(await store.get("a")).toBeUndefined();
    expect(await store.put("a", 2)).toBeGreaterThan(0);
  });

  test("removes records that expired and leases that ended long ago", async () => {
    await open(server.service.url, "swept").put("old", 1, { ttlMs: 1 });
    await open(server.service.url, "swept").lease("old", { ttlMs: 1 });
    await run("update swept.toolport_records set expires_at = now() - interval '2 hours'");
    await run("update swept.toolport_leases set expires_at = now() - interval '8 days'");
    await open(server.service.url, "swept").put("new", 1);
    const left = async () =>
      (await run("select key from swept.toolport_records union all select name from swept.toolport_leases"))
        .rows;
    await waitFor(async () => (await left()).length === 1);
    expect(await left()).toEqual([{ key: "new" }]);
  });

  test("lists keys in byte order, whatever the collation of the database", async () => {
    try {
      await run(
        "create database words template template0 locale_provider icu icu_locale 'en-US' encoding 'UTF8'",
      );
    } catch {
      return; // a server without ICU, or too old for it
    }
    const store = open(server.service.url.replace(/postgres$/, "words"));
    for (const key of ["a", "B", "b", "A", "é", "_"]) await store.put(key, 1);
    expect(await store.list("")).toEqual(["A", "B", "_", "a", "b", "é"]);
  });

  test("creates its tables in the schema of the connection by default", async () => {
    await run("create schema own");
    const store = server.closeAfterTest(
      postgresStore(`${server.service.url}?options=-c%20search_path%3Down`),
    );
    await store.put("a", 1);
    const { rows } = await run("select table_name from information_schema.tables where table_schema = 'own'");
    const names = rows.map((row) => row.table_name).sort();
    expect(names).toEqual(["toolport_leases", "toolport_migrations", "toolport_records"]);
  });

  test("stores, watches and lists keys of any length", async () => {
    const [store, other] = [open(), open()];
    const key = `long/${Array.from({ length: 3_000 }, () => crypto.randomUUID().slice(0, 4)).join("")}`;
    const changed: string[] = [];
    store.watch("long/", (name) => changed.push(name));
    await store.get("a");
    expect(await other.put(key, 1, { ifVersion: 0 })).toBeGreaterThan(0);
    expect(await other.put(key, 1, { ifVersion: 0 })).toBeUndefined();
    await waitFor(() => changed.includes(key));
    expect(await store.list(key.slice(0, 5_000))).toEqual([key]);
    expect(await store.list(`${key.slice(0, 5_000)}x`)).toEqual([]);
    expect(await store.delete(key)).toBe(true);
  });
});

testMissingPackage(postgresServer);
