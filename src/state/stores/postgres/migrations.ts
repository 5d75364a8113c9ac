/** Updates the tables of the PostgreSQL store, one process at a time. */
import type { ClientBase } from "pg";
import { StateError } from "../../../errors/state-error.js";
import { INDEXED_CHARS, type QualifiedNames } from "./statements.js";

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
