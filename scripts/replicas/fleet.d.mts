/** Types of `fleet.mjs`. */
import type { ChildProcess } from "node:child_process";
import type { ServerEntry } from "toolport";

export interface FleetOptions {
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly store: { readonly kind: string; readonly url?: string; readonly path?: string };
  /** A policy document. @default none */
  readonly policy?: unknown;
}

export interface FleetReplica {
  readonly port: number;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

export interface Fleet {
  readonly replicas: readonly FleetReplica[];
  close(): Promise<void>;
}

export function startFleet(count: number, options: FleetOptions): Promise<Fleet>;
