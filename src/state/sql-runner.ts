/** The interface of SQLite that a store needs, for files and for Durable Objects. */

/** A value of a column or a parameter. */
export type SqlValue = string | number | null;

/** A synchronous SQLite. */
export interface SqlRunner {
  /** Runs one statement and returns its rows. */
  all(sql: string, ...bindings: SqlValue[]): Record<string, unknown>[];
  /** Runs the steps as one write transaction: all of them or none. */
  transaction<T>(steps: () => T): T;
}
