/** Records, leases and change notices of a store in PostgreSQL. */
import { createHash } from "node:crypto";
import type { ClientBase } from "pg";
import type { DurabilityRisk } from "../../store.js";
import type { StoreBackend } from "../../store-backend.js";
import { type FeedConnection, type FeedListener, followChanges } from "../change-feed.js";
import { limitCalls, wholeMs } from "../limited-calls.js";
import { migrate } from "./migrations.js";
import { isTableMissing, postgresTooSlow, toPostgresError } from "./postgres-error.js";
import type { PostgresSource } from "./postgres-source.js";
import { createStatements, prefixPattern, qualifyNames, type TableNames } from "./statements.js";

/** Interval at which this process deletes records and leases that expired long ago. */
const SWEEP_EVERY_MS = 600_000;

interface Query {
  text: string;
  values: readonly unknown[];
}

const idOf = (key: string): Buffer => createHash("sha256").update(key).digest();

export function createPostgresBackend(source: PostgresSource, tables: TableNames): StoreBackend {
  const names = qualifyNames(tables);
  const sql = createStatements(names);
  const closing = new AbortController();
  const limited = limitCalls(() => postgresTooSlow(source.place), closing.signal);
  /** The channel of notices; undefined until the tables were found to exist and to be up to date. */
  let channel: string | undefined;
  let sweptAt = Number.NEGATIVE_INFINITY;

  const use = async <T>(work: (client: ClientBase, channel: string) => Promise<T>): Promise<T> => {
    await source.load();
    return await limited(async (signal) => {
      try {
        return await source.use(async (client) => {
          channel ??= await prepare(client);
          return await work(client, channel);
        }, signal);
      } catch (error) {
        if (isTableMissing(error)) channel = undefined;
        throw toPostgresError(error, source.place);
      }
    });
  };

  const prepare = async (client: ClientBase): Promise<string> => {
    await migrate(client, names);
    // The oid of a table is the same under every search path, unlike its name.
    const { rows } = await client.query(`select ${names.recordsConstant}::regclass::oid as oid`);
    return `toolport_${rows[0].oid}`;
  };

  const run = (query: (channel: string) => Query) =>
    use(async (client, notices) => {
      const { text, values } = query(notices);
      return await client.query(text, [...values]);
    });

  const sweep = (): void => {
    if (performance.now() - sweptAt < SWEEP_EVERY_MS) return;
    sweptAt = performance.now();
    // An error does not fail the write that has succeeded; a later sweep deletes the rest.
    for (const text of sql.sweep) run(() => ({ text, values: [] })).catch(() => {});
  };

  const changedWithin = async (ms: number): Promise<string[]> =>
    (await run(() => ({ text: sql.changed, values: [ms] }))).rows.map(({ key }) => key);

  /** Receives notices by LISTEN and NOTIFY, which needs a connection of its own. */
  const connectFeed = async (listener: FeedListener): Promise<FeedConnection> => {
    const notices = await use(async (_client, name) => name);
    const { client, close } = await source.listener();
    // A key that is too long for a notice is left out of it.
    client.on("notification", ({ payload = "" }) =>
      payload === "" ? listener.onUnnamedKey() : listener.onKey(payload),
    );
    client.once("error", listener.onLost);
    // `connect()` of the driver stays pending if the connection is ended meanwhile.
    const ended = new Promise<never>((_resolve, reject) => {
      client.once("end", () => {
        listener.onLost();
        reject(new Error("The connection was closed"));
      });
    });
    ended.catch(() => {});
    const listen = async () => {
      await client.connect();
      await client.query(`listen "${notices}"`);
    };
    return {
      subscribe: () => Promise.race([listen(), ended]),
      ping: () => client.query("select 1"),
      close,
    };
  };

  return {
    durabilityRisk: () => use((client) => findRisk(client, source.place)),
    async get(key) {
      const { rows } = await run(() => ({ text: sql.get, values: [idOf(key)] }));
      const [row] = rows;
      if (row === undefined) return undefined;
      return { text: row.text, version: Number(row.version), ttlLeftMs: row.left_ms ?? undefined };
    },
    async put(key, text, { ifVersion, ttlMs, lease, durable }) {
      const isUpdate = ifVersion !== undefined && ifVersion !== 0;
      const { rows } = await run((notices) => ({
        text: sql.put({ isUpdate, withLease: lease !== undefined, durable }),
        values: [
          ...[idOf(key), key, text, ttlMs === undefined ? null : wholeMs(ttlMs), ifVersion ?? null, notices],
          ...(lease === undefined ? [] : [idOf(lease.name), lease.fence]),
        ],
      }));
      sweep();
      return rows.length > 0 ? Number(rows[0].version) : undefined;
    },
    async delete(key, { ifVersion }) {
      const values = [idOf(key), key, ifVersion ?? null];
      const { rows } = await run((notices) => ({ text: sql.delete, values: [...values, notices] }));
      return rows.length > 0;
    },
    async list(prefix) {
      const { rows } = await run(() => ({ text: sql.list, values: [prefix, prefixPattern(prefix)] }));
      return rows.map(({ key }) => key);
    },
    async acquireLease(name, ttlMs) {
      const values = [idOf(name), name, wholeMs(ttlMs)];
      const { rows } = await run(() => ({ text: sql.acquireLease, values }));
      return rows.length > 0 ? Number(rows[0].fence) : undefined;
    },
    async renewLease(name, fence, ttlMs) {
      const values = [idOf(name), fence, wholeMs(ttlMs)];
      return (await run(() => ({ text: sql.renewLease, values }))).rowCount === 1;
    },
    async releaseLease(name, fence) {
      await run(() => ({ text: sql.renewLease, values: [idOf(name), fence, 0] }));
    },
    watch: (onChange) => followChanges({ connect: connectFeed, changedWithin, limited }, onChange),
    async close() {
      closing.abort();
      await source.close();
    },
  };
}

async function findRisk(client: ClientBase, place: string): Promise<DurabilityRisk | undefined> {
  const { rows } = await client.query(
    "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit",
  );
  const { fsync, commit } = rows[0];
  if (fsync === "off")
    return { what: `${place} loses writes when its machine stops (fsync is off)`, next: "Set fsync to on" };
  if (commit !== "off") return undefined;
  // Records of calls are written durably in any case, but not their deletion.
  const what = `${place} may forget that a call was discarded when it stops (synchronous_commit is off)`;
  return { what, next: "Set synchronous_commit to on" };
}
