/** A real PostgreSQL for one test file. */
import { chownSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import {
  findProgram,
  type LocalService,
  mayBeSkipped,
  otherThanRoot,
  runToEnd,
  startLocalService,
} from "./local-service.js";

const PASSWORD = "postgres-canary-5c1d";
/** Debian installs the server's programs in folders by version, outside the PATH. */
const DEBIAN = "/usr/lib/postgresql";
const folders = existsSync(DEBIAN)
  ? readdirSync(DEBIAN)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(DEBIAN, version, "bin"))
  : [];
const program = findProgram("postgres", folders);

/** True if PostgreSQL is not installed and not required: the suite is skipped by name. */
export const withoutPostgres = mayBeSkipped(program);

export interface PostgresService extends LocalService {
  /** Contains the password. */
  readonly url: string;
  readonly password: string;
  /** Runs statements on a separate connection. */
  run(sql: string): Promise<pg.QueryResult>;
}

/** Starts a PostgreSQL with one superuser, `toolport`; or a hot standby of another, which follows it until it is promoted. */
export async function startPostgres({
  standbyOf,
  fsync = "off",
}: {
  standbyOf?: PostgresService;
  fsync?: "on" | "off";
} = {}): Promise<PostgresService> {
  if (program === undefined) throw new Error("postgres was not found, and TOOLPORT_REQUIRE_SERVICES is set");
  const user = otherThanRoot(["postgres", "nobody"]);
  const url = (port: number) => `postgres://toolport:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const service = await startLocalService({
    name: "postgres",
    command: program,
    crashSignal: "SIGQUIT",
    user,
    args: (port, folder) => [
      ...["-D", join(folder, "data")],
      // Without fsync only a crash of the machine loses data; a crash of the server does not.
      ...[
        `port=${port}`,
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        `fsync=${fsync}`,
        "autovacuum=off",
      ].flatMap((setting) => ["-c", setting]),
    ],
    async prepare(folder) {
      const data = join(folder, "data");
      const bin = join(program, "..");
      if (standbyOf !== undefined) {
        const copy = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname", standbyOf.url];
        return runToEnd(join(bin, "pg_basebackup"), ["-D", data, ...copy], user);
      }
      const passwordFile = join(folder, "password");
      writeFileSync(passwordFile, PASSWORD);
      // With a strict umask only its owner may read it.
      if (user) chownSync(passwordFile, user.uid, user.gid);
      const options = [
        "-A",
        "scram-sha-256",
        "-E",
        "UTF8",
        "--no-locale",
        "--no-sync",
        "--pwfile",
        passwordFile,
      ];
      await runToEnd(join(bin, "initdb"), ["-D", data, "-U", "toolport", ...options], user);
    },
    async isReady(port) {
      const client = new pg.Client(url(port));
      client.on("error", () => {});
      await client.connect();
      await client.end();
      return true;
    },
  });
  return {
    ...service,
    url: url(service.port),
    password: PASSWORD,
    async run(sql) {
      const client = new pg.Client(url(service.port));
      client.on("error", () => {});
      await client.connect();
      try {
        return await client.query(sql);
      } finally {
        await client.end();
      }
    },
  };
}
