/** The SQL of the PostgreSQL store. Every change is one statement; all times come from the server's clock. */

import { StateError } from "@toolport/base";
import type { ClientBase } from "pg";
import { CHANGE_MEMORY_MS } from "../remote-database.js";

/** The location of the tables. */
export interface TableNames {
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
export function qualifyNames({ schema, prefix }: TableNames) {
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
export function createStatements({ records, leases, sequenceConstant }: QualifiedNames) {
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
    }: {
      isUpdate: boolean;
      withLease: boolean;
      durable: boolean;
    }): string {
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
export const prefixPattern = (prefix: string): string =>
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
export async function migrate(client: ClientBase, names: QualifiedNames): Promise<void> {
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
