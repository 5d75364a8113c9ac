/** Chooses SQLite's journal mode: the write-ahead log if it is safe, otherwise the rollback journal. See https://www.sqlite.org/wal.html. */
import { statfsSync } from "node:fs";
import type { SqlRunner } from "../../sql-runner.js";

/** Type numbers of network file systems in statfs(2): NFS, SMB, CIFS, SMB2, AFS, 9P, Ceph. */
const NETWORK_FILE_SYSTEMS = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x01021997, 0x00c36400];

/** Sets the mode. Returns the reason if it is not the write-ahead log. */
export function chooseJournalMode(sql: SqlRunner, path: string): string | undefined {
  const problem = whyNoLog(sql, path);
  const wanted = problem === undefined ? "wal" : "delete";
  if (readMode(sql, "PRAGMA journal_mode") === wanted) return problem;
  const reached = readMode(sql, `PRAGMA journal_mode = ${wanted}`);
  if (reached === wanted) return problem;
  return problem ?? "the file system does not support it";
}

function whyNoLog(sql: SqlRunner, path: string): string | undefined {
  const [row] = sql.all("SELECT sqlite_version() AS version");
  const version = String(row?.["version"]);
  if (!isSafeWithLog(version)) {
    return `SQLite ${version} can damage a log that several processes write; install @photostructure/sqlite or a newer Node`;
  }
  if (isOnNetwork(path)) return "it is on a network file system; move it to a disk of this machine";
  return undefined;
}

/** The bug that loses a log during its reset is fixed since 3.51.3; 3.52.0 was withdrawn. */
export function isSafeWithLog(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3) return major > 3;
  return minor > 52 || (minor === 52 && patch > 0) || (minor === 51 && patch >= 3);
}

function isOnNetwork(path: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return NETWORK_FILE_SYSTEMS.includes(statfsSync(path).type);
  } catch {
    return false;
  }
}

const readMode = (sql: SqlRunner, pragma: string): unknown => sql.all(pragma)[0]?.["journal_mode"];
