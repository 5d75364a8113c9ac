/** Where a server was configured: kept with it, for messages, for consent, and for whoever wonders. */
import type { ConfigScope } from "./config-locations.js";
import type { DialectKind } from "./dialects/dialect.js";

/** Where a server was configured. */
export interface ConfigSource {
  /** Absolute path. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** Whose way of writing it is. */
  readonly kind: DialectKind;
  /** A project's file may come from others: ask before its servers are used. */
  readonly scope: ConfigScope;
  /** Fields that Toolport has no use for, as they were written; absent if there are none. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The entry with its variables as they were written, for whoever copies it into a file of ours. */
  readonly written: Readonly<Record<string, unknown>>;
}
