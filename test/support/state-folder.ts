/** A temporary folder for each test of a file store, and the processes that share the file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach } from "vitest";
import { useStateHosts } from "./state-host.js";

export interface StateFolder {
  readonly hosts: ReturnType<typeof useStateHosts>;
  /** Empty at the start of each test. */
  readonly folder: string;
  /** Path of this test's store. */
  readonly path: string;
}

/** Creates a folder before each test, and removes all of them at the end. */
export function useStateFolder(fileName: string): StateFolder {
  const hosts = useStateHosts();
  const folders: string[] = [];
  const current = () => folders.at(-1) ?? "";
  beforeEach(() => {
    folders.push(mkdtempSync(join(tmpdir(), "toolport-state-")));
  });
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true });
  });
  return {
    hosts,
    get folder() {
      return current();
    },
    get path() {
      return join(current(), fileName);
    },
  };
}
