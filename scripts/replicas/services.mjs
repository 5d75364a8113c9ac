/** A real Redis or PostgreSQL in a temporary directory, for one run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Debian installs the server's programs in folders by version, outside the PATH. */
const POSTGRES = "/usr/lib/postgresql";

/** @returns the place for `openStore`, and a function that ends the service */
export async function startService(kind) {
  const folder = mkdtempSync(join(tmpdir(), "toolport-replicas-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (kind === "sqlite")
    return { place: { kind, path: join(folder, "state.db") }, close: async () => remove() };
  const port = await freePort();
  const start = kind === "redis" ? startRedis : startPostgres;
  const { url, stop } = await start(port, folder);
  return {
    place: { kind, url },
    async close() {
      await stop();
      remove();
    },
  };
}

async function startRedis(port, folder) {
  const args = [
    "--port",
    String(port),
    "--bind",
    "127.0.0.1",
    "--dir",
    folder,
    "--save",
    "",
    "--appendonly",
    "yes",
  ];
  const stop = await startUntil("redis-server", args, "Ready to accept connections");
  return { url: `redis://127.0.0.1:${port}/0`, stop };
}

async function startPostgres(port, folder) {
  const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions.length > 0 ? join(POSTGRES, versions[0], "bin") : "";
  const user = otherThanRoot();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const init = spawn(join(bin, "initdb"), ["-D", data, "-U", "toolport", "-A", "trust", "--no-sync"], {
    ...user,
    stdio: "ignore",
  });
  const [code] = await once(init, "exit");
  if (code !== 0) throw new Error(`initdb ended with ${code}`);
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
  const args = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const stop = await startUntil(join(bin, "postgres"), args, "ready to accept connections", user);
  return { url: `postgres://toolport@127.0.0.1:${port}/postgres`, stop };
}

/** PostgreSQL refuses to run as root. */
function otherThanRoot() {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = users.find(([name]) => name === "postgres");
  return found && { uid: Number(found[2]), gid: Number(found[3]) };
}

async function startUntil(command, args, words, user = {}) {
  const child = spawn(command, args, { ...user, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  await new Promise((resolve, reject) => {
    let log = "";
    const read = (text) => {
      log += text;
      if (log.includes(words)) resolve();
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", read);
    exited.then(([code]) => reject(new Error(`${command} ended with ${code}: ${log}`)), reject);
  });
  return async () => {
    child.kill("SIGINT");
    await exited;
  };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
