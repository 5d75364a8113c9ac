/** One round of kill -9: processes write to a store and are killed at a random moment; no reported write is lost. */
import { DatabaseSync } from "@photostructure/sqlite";
import { type StoreWarning, sqliteStore } from "toolport/sqlite";
import { expect } from "vitest";
import type { Store } from "../../packages/stores/src/store.js";
import type { StateHost, useStateHosts } from "./state-host.js";

/** SQLite finds no damage in the file. */
export function expectIntegrity(path: string): void {
  const database = new DatabaseSync(path);
  expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  database.close();
}

/** The last number that the host reported for each key. */
const reported = (host: StateHost): [key: string, n: number][] => {
  const pairs = host.lines().map((line): [string, number] => {
    const [key = "", n] = line.split(" ");
    return [key, Number(n)];
  });
  return [...new Map(pairs)];
};

/** A kind of store whose writers are killed. */
export interface KilledStore {
  open(path: string, options: { onWarning: (warning: StoreWarning) => void }): Store;
  expectIntegrity(path: string): void;
  /** Processes that write at the same time. */
  readonly writers: number;
}

export const SQLITE: KilledStore = { open: sqliteStore, expectIntegrity, writers: 2 };

/** Returns how many commits were reported. */
export async function runKillRound(
  hosts: Pick<ReturnType<typeof useStateHosts>, "start">,
  path: string,
  round: number,
  kind = SQLITE,
): Promise<number> {
  const writers = Array.from({ length: kind.writers }, (_, index) =>
    hosts.start(["write", path, `${round}-${index}`]),
  );
  await Promise.all(
    writers.map(async (writer) => {
      await writer.begun;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      await writer.kill();
    }),
  );
  kind.expectIntegrity(path);
  const store = kind.open(path, { onWarning: ({ message }) => expect.fail(message) });
  try {
    for (const writer of writers) {
      expect(reported(writer)).not.toEqual([]);
      for (const [key, n] of reported(writer)) {
        const value = (await store.get(key))?.value as { n: number; text: string };
        // The process may have been killed between the next commit and its report.
        expect(value.n).toBeGreaterThanOrEqual(n);
        expect(value.text).toBe(`${value.n};`.repeat((value.n * 37) % 3_000));
      }
    }
  } finally {
    await store.close();
  }
  return writers.reduce((sum, writer) => sum + writer.lines().length, 0);
}
