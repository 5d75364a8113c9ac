/** The store in PostgreSQL keeps the contract, by URL and through a pool of the user's. */
import pg from "pg";
import type { Store } from "toolport";
import { postgresStore } from "toolport/postgres";
import { afterAll, beforeAll, describe } from "vitest";
import { type PostgresService, startPostgres, withoutPostgres } from "../support/postgres-service.js";
import { describeStore } from "./store-contract.js";

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

describe.skipIf(withoutPostgres)("with postgres", () => {
  let postgres: PostgresService;
  let count = 0;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.[Symbol.asyncDispose]());

  describe.each(["by URL", "with a pool"])("%s", (how) => {
    describeStore("postgres", async () => {
      // A name that has to be quoted.
      const schema = `Test "${++count}"`;
      const handles: Store[] = [];
      const pools: pg.Pool[] = [];
      const connect = () => {
        // The least that a user can have: nothing of ours may need two connections at once.
        const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
        pools.push(pool);
        return pool;
      };
      const open = (): Store => {
        const store = postgresStore(how === "by URL" ? postgres.url : connect(), { key: KEY, schema });
        handles.push(store);
        return store;
      };
      return {
        store: open(),
        another: open,
        async contents() {
          const quoted = `"${schema.replaceAll('"', '""')}"`;
          return JSON.stringify((await postgres.run(`select * from ${quoted}.toolport_records`)).rows);
        },
        async remove() {
          await Promise.all(handles.map((store) => store.close()));
          await Promise.all(pools.map((pool) => pool.end()));
        },
      };
    });
  });
});
