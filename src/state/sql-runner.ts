/** The little that the SQL of a store needs from a SQLite, be it a file or a Durable Object's. */

/** What a column holds and a statement is bound to. */
export type SqlValue = string | number | null;

/** A synchronous SQLite. */
export interface SqlRunner {
  /** Runs one statement and returns its rows. */
  all(sql: string, ...bindings: SqlValue[]): Record<string, unknown>[];
  /** Runs the steps as one write transaction: all of them or none. */
  transaction<T>(steps: () => T): T;
}
