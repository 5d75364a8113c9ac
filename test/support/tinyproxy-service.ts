/** A real HTTP proxy (tinyproxy) for one test file. */
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { findProgram, type LocalService, mayBeSkipped, startLocalService } from "./local-service.js";

const program = findProgram("tinyproxy", ["/usr/bin", "/usr/sbin"]);

/** True if tinyproxy is not installed and not required: the suite is skipped by name. */
export const withoutTinyproxy = mayBeSkipped(program);

export interface TinyproxyOptions {
  /** Rejects requests without these credentials (HTTP 407). @default no credentials are needed */
  readonly credentials?: { readonly user: string; readonly password: string };
  /** Rejected hosts (HTTP 403), as regular expressions. @default none */
  readonly refuses?: readonly string[];
}

export interface Tinyproxy extends LocalService {
  /** Without credentials. */
  readonly url: string;
  readonly host: string;
  /** The request lines so far: `CONNECT host:port HTTP/1.1`, `GET http://host/path HTTP/1.1`. */
  requests(): string[];
}

export async function startTinyproxy({ credentials, refuses }: TinyproxyOptions = {}): Promise<Tinyproxy> {
  if (program === undefined) throw new Error("tinyproxy was not found, and TOOLPORT_REQUIRE_SERVICES is set");
  let log = "";
  const service = await startLocalService({
    name: "tinyproxy",
    command: program,
    args(port, folder) {
      log = join(folder, "log");
      const file = join(folder, "tinyproxy.conf");
      const filter = join(folder, "filter");
      const lines = [
        ...[`Port ${port}`, "Listen 127.0.0.1", "Timeout 60", "MaxClients 400", "LogLevel Connect"],
        ...[`LogFile "${log}"`],
        ...(credentials ? [`BasicAuth ${credentials.user} ${credentials.password}`] : []),
        ...(refuses ? [`Filter "${filter}"`, "FilterExtended On"] : []),
      ];
      writeFileSync(file, `${lines.join("\n")}\n`);
      if (refuses) writeFileSync(filter, `${refuses.join("\n")}\n`);
      return ["-d", "-c", file];
    },
    isReady: (port) =>
      new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1");
        const end = (isOpen: boolean) => () => {
          socket.destroy();
          resolve(isOpen);
        };
        socket.once("connect", end(true)).once("error", end(false));
      }),
  });
  const host = `127.0.0.1:${service.port}`;
  return {
    ...service,
    host,
    url: `http://${host}`,
    requests: () =>
      [...readFileSync(log, "utf8").matchAll(/Request \(file descriptor \d+\): (.*)/g)].map(
        ([, line]) => line!,
      ),
  };
}
