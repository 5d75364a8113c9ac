/** The SQL of the PostgreSQL store. Every change is one statement; all times come from the server's clock. */
import { CHANGE_MEMORY_MS } from "../change-feed.js";

/** The location of the tables. */
export interface TableNames {
  /** Undefined for the default of the connection. */
  schema?: string | undefined;
  prefix: string;
}

/** Length of the key prefix in the index: PostgreSQL limits the size of index entries. */
export const INDEXED_CHARS = 200;

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

export type QualifiedNames = ReturnType<typeof qualifyNames>;

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
