/** `toolport/postgres`: a store that many processes share. */
import { createHash } from "node:crypto";
import { Socket } from "node:net";
import { isRecord, loadOnce, readField, readText, readUnchecked, StateError } from "@toolport/base";
import type { Client, ClientBase, ClientConfig, Pool, PoolClient } from "pg";
import { createStore, type SealingStore } from "../create-store.js";
import {
  BUSY,
  CHANGE_MEMORY_MS,
  CONNECT_LIMIT_MS,
  type FeedConnection,
  type FeedListener,
  followChanges,
  limitCalls,
  loadDriver,
  type Meaning,
  toRemoteError,
  wholeMs,
} from "../remote-database.js";
import type { DurabilityRisk } from "../store.js";
import {
  checkStoreArguments,
  configuredSealer,
  hasMethods,
  hasScheme,
  needs,
  type StoreKeys,
} from "../store-arguments.js";
import type { StoreBackend } from "../store-backend.js";

export type { SealingStore } from "../create-store.js";
export type { StoreKeys } from "../store-arguments.js";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /**
   * Encrypts secrets: 32 random bytes, for instance as base64. All processes need the same key. Of several, the first
   * encrypts and all decrypt. Without a key, writing secrets fails.
   * @default the environment variable TOOLPORT_STORE_KEY
   */
  key?: StoreKeys | undefined;
  /**
   * Schema of the tables; created if it does not exist.
   * @default the first one of the connection's search path
   */
  schema?: string | undefined;
  /**
   * Begins the names of the tables `records`, `leases`, `migrations` and of the sequence `versions`.
   * @default "toolport_"
   */
  tablePrefix?: string | undefined;
}

/**
 * Stores Toolport's state in PostgreSQL (11 or newer) through `pg`. Connects when it is first used, and creates its tables.
 * It never ends your own pool. With PgBouncer, `watch()` requires session mode.
 *
 * @example
 * ```ts
 * import { createToolport } from "toolport";
 * import { postgresStore } from "toolport/postgres";
 *
 * const store = postgresStore("postgres://localhost/app");
 * const toolport = createToolport({ mcpServers, store });
 * ```
 */
export function postgresStore(
  urlOrPool: string | URL | Pool,
  options: PostgresStoreOptions = {},
): SealingStore {
  checkStoreArguments({
    of: "postgresStore()",
    problem: postgresProblem(urlOrPool),
    options,
    table: { key: readUnchecked, schema: readText, tablePrefix: readUnchecked },
  });
  const { key, schema, tablePrefix = "toolport_" } = options;
  const source =
    typeof urlOrPool === "string" || urlOrPool instanceof URL
      ? postgresAt(String(urlOrPool))
      : postgresOf(urlOrPool);
  const backend = createPostgresBackend(source, { schema, prefix: tablePrefix });
  return createStore(backend, { sealer: configuredSealer(key) });
}

/** Interval at which this process deletes records and leases that expired long ago. */
const SWEEP_EVERY_MS = 600_000;

const idOf = (key: string): Buffer => createHash("sha256").update(key).digest();

function createPostgresBackend(source: PostgresSource, tables: TableNames): StoreBackend {
  const names = qualifyNames(tables);
  const sql = createStatements(names);
  const closing = new AbortController();
  const limited = limitCalls(source.place, closing.signal);
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
        throw toRemoteError(error, source.place, meaningOf(error));
      }
    });
  };

  const prepare = async (client: ClientBase): Promise<string> => {
    await migrate(client, names);
    // The oid of a table is the same under every search path, unlike its name.
    const { rows } = await client.query(`select ${names.recordsConstant}::regclass::oid as oid`);
    return `toolport_${rows[0].oid}`;
  };

  const run = (text: string, ...values: unknown[]) => use((client) => client.query(text, values));

  const sweep = (): void => {
    if (performance.now() - sweptAt < SWEEP_EVERY_MS) return;
    sweptAt = performance.now();
    // An error does not fail the write that has succeeded; a later sweep deletes the rest.
    for (const text of sql.sweep) run(text).catch(() => {});
  };

  const changedWithin = async (ms: number): Promise<string[]> =>
    (await run(sql.changed, ms)).rows.map(({ key }) => key);

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
      const [row] = (await run(sql.get, idOf(key))).rows;
      if (row === undefined) return undefined;
      return { text: row.text, version: Number(row.version), ttlLeftMs: row.left_ms ?? undefined };
    },
    async put(key, text, { ifVersion, ttlMs, lease, durable }) {
      const isUpdate = ifVersion !== undefined && ifVersion !== 0;
      const query = sql.put({ isUpdate, withLease: lease !== undefined, durable });
      const values = [idOf(key), key, text, ttlMs === undefined ? null : wholeMs(ttlMs), ifVersion ?? null];
      const ofLease = lease === undefined ? [] : [idOf(lease.name), lease.fence];
      const { rows } = await use((client, notices) => client.query(query, [...values, notices, ...ofLease]));
      sweep();
      return rows.length > 0 ? Number(rows[0].version) : undefined;
    },
    async delete(key, { ifVersion }) {
      const values = [idOf(key), key, ifVersion ?? null];
      const { rows } = await use((client, notices) => client.query(sql.delete, [...values, notices]));
      return rows.length > 0;
    },
    async list(prefix) {
      return (await run(sql.list, prefix, prefixPattern(prefix))).rows.map(({ key }) => key);
    },
    async acquireLease(name, ttlMs) {
      const { rows } = await run(sql.acquireLease, idOf(name), name, wholeMs(ttlMs));
      return rows.length > 0 ? Number(rows[0].fence) : undefined;
    },
    async renewLease(name, fence, ttlMs) {
      return (await run(sql.renewLease, idOf(name), fence, wholeMs(ttlMs))).rowCount === 1;
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

const full: Meaning = { code: "FULL", what: "has no space left", next: "Check its disk and memory" };
const corrupt: Meaning = { code: "CORRUPT", what: "reports damaged data", next: "Check its log" };
const login: Meaning = {
  code: "UNAVAILABLE",
  what: "refused the login",
  next: "Check the user, the password and the database in its URL",
};

/** By SQLSTATE, or by its first two characters: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const STATES: Readonly<Record<string, Meaning>> = {
  "25006": {
    code: "UNAVAILABLE",
    what: "does not accept writes at present",
    next: "Use the address of the primary",
    retryable: true,
  },
  "42501": {
    code: "UNAVAILABLE",
    what: "denies this user a permission that the store needs",
    next: "Grant the user the right to create and use the tables of the store",
  },
  "53300": BUSY,
  "55P03": BUSY,
  "57014": BUSY,
  "57P03": BUSY,
  "3D": login,
  "28": login,
  "40": BUSY,
  "53": full,
  XX: corrupt,
};

const sqlState = (error: unknown): string | undefined => {
  const code = readField(error, "code");
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
};

/** The tables no longer exist. */
const isTableMissing = (error: unknown): boolean => sqlState(error) === "42P01";

/** Undefined: the server could not be reached. */
function meaningOf(error: unknown): Meaning | undefined {
  const state = sqlState(error);
  if (state === undefined) return undefined;
  const known = STATES[state] ?? STATES[state.slice(0, 2)];
  // Class 57 is an operator's shutdown, 08 a broken connection: both count as an unreachable server.
  if (known !== undefined || ["57", "08"].includes(state.slice(0, 2))) return known;
  return { code: "UNAVAILABLE", what: `answered with an error (${state})`, retryable: isTableMissing(error) };
}

/** Provides connections. */
interface PostgresSource {
  /** The name of the server in messages, without user and password. */
  readonly place: string;
  /** Loads the driver. No time limit applies: loading can take long on a busy machine. */
  load(): Promise<unknown>;
  /** Works with a connection of the pool, and drops it when the signal aborts. */
  use<T>(work: (client: ClientBase) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** A connection outside the pool, for listening only; not yet connected. */
  listener(): Promise<{ client: Client; close(): void }>;
  close(): Promise<void>;
}

/** The server's statement timeout is shorter than ours, so that a statement that was reported as failed does not take effect later. */
const STATEMENT_LIMIT_MS = 3_500;
const MAX_CONNECTIONS = 5;
/** How long the server may take to close a connection. */
const GOODBYE_MS = 500;

const ignore = (): void => {};
const loadPg = () => loadDriver("pg", () => import("pg"));

/** The sockets of the driver, which waits for the server to close them without a limit. */
function trackSockets() {
  const open = new Map<Socket, Promise<void>>();
  let isClosed = false;
  return {
    create(): Socket {
      if (isClosed) throw new Error("The store was closed in the meantime");
      const socket = new Socket();
      const closed = new Promise<void>((resolve) => {
        socket.once("close", () => {
          open.delete(socket);
          resolve();
        });
      });
      open.set(socket, closed);
      return socket;
    },
    /** Resolves when all are closed; destroys those that take too long. */
    async close() {
      isClosed = true;
      const timer = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy();
      }, GOODBYE_MS);
      await Promise.all(open.values());
      clearTimeout(timer);
    },
  };
}

/**
 * Takes one connection out of the pool. An error of the connection also rejects its query, but the pool removes its error listener
 * when it returns the connection, and the server may send a fatal error together with the ready message. A promise would leave a
 * moment without a listener, in which such an error ends the process. So this uses a callback.
 */
function takeOut(pool: Pool): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error);
      client.on("error", ignore);
      resolve(client);
    });
  });
}

/** Works with one connection of the pool, and returns it; after an error it is dropped. */
async function usePooled<T>(
  pool: Pool,
  { work, signal }: { work: (client: PoolClient) => Promise<T>; signal: AbortSignal },
): Promise<T> {
  const client = await takeOut(pool);
  let isBack = false;
  const giveBack = (isBroken: boolean) => {
    if (isBack) return;
    isBack = true;
    client.release(isBroken);
    client.off("error", ignore);
  };
  const abandon = () => giveBack(true);
  signal.addEventListener("abort", abandon);
  try {
    if (signal.aborted) throw signal.reason;
    const result = await work(client);
    giveBack(false);
    return result;
  } catch (error) {
    giveBack(true);
    throw error;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

function createListener(
  PgClient: typeof Client,
  { config, socket }: { config: ClientConfig; socket: Socket },
) {
  const client = new PgClient(config);
  client.on("error", ignore);
  socket.unref();
  return {
    client,
    close() {
      const cut = () => {
        clearTimeout(timer);
        socket.destroy();
      };
      const timer = setTimeout(cut, GOODBYE_MS).unref();
      client.end().then(cut, cut);
    },
  };
}

/** Connections to the server at `url`, in a small pool that does not keep the process alive. */
function postgresAt(url: string): PostgresSource {
  const sockets = trackSockets();
  const place = placeOf(url);
  const config = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    fallback_application_name: "toolport",
    keepAlive: true,
  };
  const prepared = new WeakSet<ClientBase>();
  const openPool = loadOnce(async (): Promise<Pool> => {
    const { Pool } = await loadPg();
    const pool = new Pool({
      ...config,
      stream: sockets.create,
      max: MAX_CONNECTIONS,
      allowExitOnIdle: true,
    });
    return pool.on("error", ignore);
  });
  return {
    place,
    load: loadPg,
    async use(work, signal) {
      return await usePooled(await openPool(), {
        signal,
        async work(client) {
          // Not as a connection parameter, which proxies such as PgBouncer reject.
          if (!prepared.has(client)) await client.query(`set statement_timeout = ${STATEMENT_LIMIT_MS}`);
          prepared.add(client);
          return await work(client);
        },
      });
    },
    async listener() {
      const { Client: PgClient } = await loadPg();
      const socket = sockets.create();
      return createListener(PgClient, { config: { ...config, stream: () => socket }, socket });
    },
    async close() {
      const pool = await openPool.current?.catch(ignore);
      pool?.end().catch(ignore);
      await sockets.close();
    },
  };
}

/** Uses the user's pool, which the user ends. Only the connection for notices belongs to the store. */
function postgresOf(pool: Pool): PostgresSource {
  const sockets = trackSockets();
  // Without a listener, the error of an idle connection would end the process.
  pool.on("error", ignore);
  return {
    place: "PostgreSQL",
    load: async () => {},
    use: (work, signal) => usePooled(pool, { work, signal }),
    async listener() {
      const { Client: PgClient } = await loadPg();
      const socket = sockets.create();
      // Copy property descriptors too: the password is not enumerable.
      const config: ClientConfig = Object.defineProperties(
        {},
        Object.getOwnPropertyDescriptors(pool.options),
      );
      return createListener(PgClient, { config: Object.assign(config, { stream: () => socket }), socket });
    },
    async close() {
      pool.off("error", ignore);
      await sockets.close();
    },
  };
}

/** What is wrong with the first argument of `postgresStore()`. */
function postgresProblem(value: unknown): string | undefined {
  const expected = "a URL such as postgres://localhost/app, or a Pool of pg";
  if (typeof value === "string" || value instanceof URL)
    return hasScheme(String(value), ["postgres:", "postgresql:", "socket:"])
      ? undefined
      : `the address is not a PostgreSQL URL: this needs ${expected}`;
  const isPool = hasMethods(value, ["connect", "on", "off"]) && isRecord(value["options"]);
  return isPool ? undefined : needs(expected, value);
}

function placeOf(url: string): string {
  const { protocol, host } = new URL(url);
  return protocol === "socket:" || host === "" ? "PostgreSQL" : `PostgreSQL at ${host}`;
}

/** The location of the tables. */
interface TableNames {
  /** Undefined for the default of the connection. */
  schema?: string | undefined;
  prefix: string;
}

/** Length of the key prefix in the index: PostgreSQL limits the size of index entries. */
const INDEXED_CHARS = 200;

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** As a string constant, for functions that take the name of a table or sequence. */
const constant = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Names quoted for SQL. */
function qualifyNames({ schema, prefix }: TableNames) {
  const qualify = (name: string): string =>
    `${schema === undefined ? "" : `${identifier(schema)}.`}${identifier(prefix + name)}`;
  const sequence = qualify("versions");
  return {
    schema: schema === undefined ? undefined : { name: identifier(schema), constant: constant(schema) },
    records: qualify("records"),
    recordsConstant: constant(qualify("records")),
    leases: qualify("leases"),
    migrations: qualify("migrations"),
    migrationsConstant: constant(qualify("migrations")),
    sequence,
    sequenceConstant: constant(sequence),
    /** An index is in the schema of its table. */
    index: (name: string) => identifier(`${prefix}${name}`),
  };
}

type QualifiedNames = ReturnType<typeof qualifyNames>;

const NOW = "clock_timestamp()";
const after = (parameter: string): string => `${NOW} + ${parameter}::float8 * interval '1 millisecond'`;
const LIVE = `(r.expires_at is null or r.expires_at > ${NOW})`;
/** Waits until the log is on the disk, regardless of the server's default. */
const DURABLE = `, set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end, true)`;

/** Locks the lease too, so that no other process acquires it between the check and the write. */
const heldLease = (leases: string): string =>
  `held as (select 1 from ${leases} where id = $7::bytea and fence = $8::bigint for share),`;

/**
 * A deleted record stays for a while as an expired record without text, so that a process that lost the connection
 * can still detect the deletion. Keys are found by their hash, because index entries have a size limit.
 */
function createStatements({ records, leases, sequenceConstant }: QualifiedNames) {
  const next = `nextval(${sequenceConstant})`;
  const write = `text = $3::text, version = ${next}, expires_at = ${after("$4")}, changed_at = ${NOW}`;
  const notified = (durable: boolean) =>
    `select version, pg_notify($6::text, case when octet_length($2::text) < 7900 then $2::text else '' end)
     ${durable ? DURABLE : ""} from written`;
  return {
    get: `select r.version, r.text, extract(epoch from r.expires_at - ${NOW})::float8 * 1000 as left_ms
      from ${records} r where r.id = $1::bytea and ${LIVE}`,

    /** Parameters: id, key, text, milliseconds or null, version or null, channel, and with a lease its id and fence. */
    put({
      isUpdate,
      withLease,
      durable,
    }: { [Key in "isUpdate" | "withLease" | "durable"]: boolean }): string {
      const held = withLease ? heldLease(leases) : "";
      // A recreated record replaces the row of an expired or deleted one.
      const written = isUpdate
        ? `update ${records} r set ${write} where r.id = $1::bytea and r.version = $5::bigint and ${LIVE}
           ${withLease ? "and exists (select from held)" : ""} returning r.version`
        : `insert into ${records} as r (id, key, text, version, expires_at, changed_at)
           select $1::bytea, $2::text, $3::text, ${next}, ${after("$4")}, ${NOW} ${withLease ? "from held" : ""}
           on conflict (id) do update set ${write} where $5::bigint is null or not ${LIVE} returning r.version`;
      return `with ${held} written as (${written}) ${notified(durable)}`;
    },

    /** Parameters: id, key, version or null, channel. */
    delete: `with gone as (
        update ${records} r set text = '', version = ${next}, expires_at = ${NOW}, changed_at = ${NOW}
        where r.id = $1::bytea and ($3::bigint is null or r.version = $3::bigint) and ${LIVE} returning 1)
      select pg_notify($4::text, case when octet_length($2::text) < 7900 then $2::text else '' end) from gone`,

    /** Parameters: prefix, and a pattern for its indexed part. */
    list: `select r.key from ${records} r
      where left(r.key, ${INDEXED_CHARS}) like $2::text and starts_with(r.key, $1::text) and ${LIVE} order by r.key`,

    /** Parameter: milliseconds. Returns all keys if changes are not stored that long. */
    changed: `select r.key from ${records} r
      where r.changed_at >= ${NOW} - $1::float8 * interval '1 millisecond' or $1::float8 >= ${CHANGE_MEMORY_MS}`,

    acquireLease: `insert into ${leases} as l (id, name, fence, expires_at)
      values ($1::bytea, $2::text, ${next}, ${after("$3")})
      on conflict (id) do update set fence = ${next}, expires_at = ${after("$3")}
      where l.expires_at <= ${NOW} returning l.fence`,

    renewLease: `update ${leases} set expires_at = ${after("$3")} where id = $1::bytea and fence = $2::bigint`,

    sweep: [
      `delete from ${records} where id in (select id from ${records}
        where expires_at < ${NOW} - interval '${CHANGE_MEMORY_MS} milliseconds' limit 1000 for update skip locked)`,
      `delete from ${leases} where id in (select id from ${leases}
        where expires_at < ${NOW} - interval '7 days' limit 1000 for update skip locked)`,
    ],
  };
}

/** A pattern for the indexed part of keys that begin with `prefix`. */
const prefixPattern = (prefix: string): string =>
  `${Array.from(prefix)
    .slice(0, INDEXED_CHARS)
    .join("")
    .replace(/[\\%_]/g, "\\$&")}%`;

/** Each is applied once, in order, and never changed after a release: the first is number 1. */
const migrations = (names: QualifiedNames): readonly (readonly string[])[] => [
  [
    `create sequence ${names.sequence}`,
    `create table ${names.records} (
      id bytea primary key,
      key text collate "C" not null,
      text text not null,
      version bigint not null,
      expires_at timestamptz,
      changed_at timestamptz not null)`,
    `create index ${names.index("records_prefix")} on ${names.records} (left(key, ${INDEXED_CHARS}))`,
    `create index ${names.index("records_expiry")} on ${names.records} (expires_at) where expires_at is not null`,
    `create table ${names.leases} (
      id bytea primary key,
      name text not null,
      fence bigint not null,
      expires_at timestamptz not null)`,
  ],
];

/** Creates or updates the tables; throws if a newer version of Toolport created them. */
async function migrate(client: ClientBase, names: QualifiedNames): Promise<void> {
  const steps = migrations(names);
  // Usually there is nothing to do, and this also works on a read-only server.
  const there = await client.query(`select to_regclass(${names.migrationsConstant}) is not null as found`);
  if (there.rows[0]?.found === true && (await readVersion(client, names)) === steps.length) return;
  await client.query("begin");
  try {
    await client.query(`select pg_advisory_xact_lock(hashtextextended(${names.migrationsConstant}, 0))`);
    // Do not check for the table again: the connection may cache the result from before the lock.
    await createMigrationsTable(client, names);
    const done = await readVersion(client, names);
    for (const [index, statements] of steps.entries()) {
      if (index < done) continue;
      for (const statement of statements) await client.query(statement);
      await client.query(`insert into ${names.migrations} (version) values ($1)`, [index + 1]);
    }
    await client.query("commit");
  } catch (error) {
    // The connection is not used again after an error; this only releases the lock for others at once.
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

async function createMigrationsTable(client: ClientBase, { schema, migrations: table }: QualifiedNames) {
  if (schema !== undefined) {
    // An existing schema needs no permission to create one.
    const found = await client.query(`select 1 from pg_namespace where nspname = ${schema.constant}`);
    if (found.rows.length === 0) await client.query(`create schema ${schema.name}`);
  }
  await client.query(`create table if not exists ${table} (
    version integer primary key,
    applied_at timestamptz not null default now())`);
}

/** The last migration applied, 0 if there is none. */
async function readVersion(client: ClientBase, names: QualifiedNames): Promise<number> {
  const { rows } = await client.query(`select coalesce(max(version), 0) as version from ${names.migrations}`);
  const version = Number(rows[0]?.version);
  const newest = migrations(names).length;
  if (version > newest) {
    throw new StateError({
      code: "UNAVAILABLE",
      what: `The store's tables have version ${version}, this Toolport supports versions up to ${newest}`,
      next: "Update Toolport, or use other tables (`schema`, `tablePrefix`); nothing was changed",
    });
  }
  return version;
}
