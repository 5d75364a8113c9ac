/**
 * A real Podman for one test file, with storage and settings of its own, and one image that holds the running Node and the
 * lean server. Nothing is fetched from a registry.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { findProgram, mayBeSkipped } from "./local-service.js";
import { waitFor } from "./wait-for.js";

const run = promisify(execFile);
const program = findProgram("podman");

export const LEAN_IMAGE = "localhost/toolport-lean";

export interface Container {
  readonly name: string;
  /** Of its first process, on the host. */
  readonly pid: number;
}

export interface PodmanEngine extends AsyncDisposable {
  /** Serves its API on a socket, as a daemon does. */
  serve(): Promise<AsyncDisposable & { readonly url: string }>;
  /** Containers in any state. */
  containers(): Promise<Container[]>;
  /** Processes on the host that belong to this engine or its containers. */
  processes(): Promise<string[]>;
}

/** The engine, or why it cannot be used here: the suite skips itself by that name. */
export type FoundPodman = { readonly engine: PodmanEngine } | { readonly refusal: string };

/**
 * Builds the image and runs one container as a probe. Where services are required, a missing Podman throws; a kernel that
 * runs no containers is a refusal in either case, in Podman's words.
 */
export async function openPodman(): Promise<FoundPodman> {
  if (mayBeSkipped(program)) return { refusal: "podman was not found" };
  if (program === undefined) throw new Error("podman was not found, and TOOLPORT_REQUIRE_SERVICES is set");
  const folder = mkdtempSync(join(tmpdir(), "toolport-podman-"));
  const restore = setEnvironment({
    CONTAINERS_CONF: join(folder, "containers.conf"),
    CONTAINERS_STORAGE_CONF: join(folder, "storage.conf"),
  });
  const engine = createEngine(program, folder, restore);
  try {
    await buildImage(program, folder);
    await run(program, ["run", "--rm", "--init", LEAN_IMAGE, "--exit=0"]);
    return { engine };
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    const { stderr, message } = error as Error & { stderr?: string };
    return { refusal: (stderr?.trim() || message).split("\n").at(-1) ?? "" };
  }
}

function createEngine(podman: string, folder: string, restore: () => void): PodmanEngine {
  const processes = async () => {
    const { stdout } = await run("ps", ["-A", "-o", "pid=,args="]);
    // Each container's monitor names the folder of the storage.
    return stdout.split("\n").filter((line) => line.includes(folder) && !line.includes("ps -A"));
  };
  return {
    processes,
    async serve() {
      const socket = join(folder, "api.sock");
      const url = `unix://${socket}`;
      const service = spawn(podman, ["system", "service", "--time=0", url], { stdio: "ignore" });
      await waitFor(() => existsSync(socket), { label: "the socket of podman" });
      return {
        url,
        async [Symbol.asyncDispose]() {
          const ended = once(service, "exit");
          service.kill();
          await ended;
        },
      };
    },
    async containers() {
      const { stdout } = await run(podman, ["ps", "-a", "--format", "{{.Names}} {{.Pid}}"]);
      const lines = stdout.split("\n").filter(Boolean);
      return lines.map((line) => {
        const [name = "", pid] = line.split(" ");
        return { name, pid: Number(pid) };
      });
    },
    async [Symbol.asyncDispose]() {
      await run(podman, ["rm", "-f", "-t", "0", "--all"]).catch(() => {});
      await run(podman, ["rmi", "-f", "--all"]).catch(() => {});
      await waitFor(async () => (await processes()).length === 0, { label: "all of podman to be gone" });
      restore();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Toolport hands these on to the engine, as it does for users. */
function setEnvironment(values: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

async function buildImage(podman: string, folder: string): Promise<void> {
  writeSettings(folder);
  const root = join(folder, "root");
  const add = (from: string, to: string) => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  add(process.execPath, "/bin/node");
  add(LEAN_SERVER, "/app/server.mjs");
  const { stdout: libraries } = await run("ldd", [process.execPath]);
  for (const [path] of libraries.matchAll(/(?<=\s)\/\S+/g)) add(path, path);
  const archive = join(folder, "image.tar");
  await run("tar", ["-C", root, "-cf", archive, "."]);
  const entrypoint = 'ENTRYPOINT ["/bin/node","/app/server.mjs"]';
  await run(podman, ["import", "--quiet", "--change", entrypoint, archive, LEAN_IMAGE]);
  for (const path of [root, archive]) rmSync(path, { recursive: true });
}

/** No network, no journal, modest limits, and everything in the folder. */
function writeSettings(folder: string): void {
  writeFileSync(
    join(folder, "containers.conf"),
    [
      "[containers]",
      'netns = "none"',
      'log_driver = "none"',
      // Podman's own defaults are higher than some hosts allow.
      'default_ulimits = ["nofile=1024:1024", "nproc=16384:16384"]',
      "[engine]",
      'runtime = "runc"',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "none"',
      'lock_type = "file"',
      `tmp_dir = ${JSON.stringify(join(folder, "tmp"))}`,
    ].join("\n"),
  );
  const places = { graphroot: join(folder, "graph"), runroot: join(folder, "run") };
  const lines = Object.entries({ driver: "overlay", ...places }).map(
    ([name, value]) => `${name} = ${JSON.stringify(value)}`,
  );
  writeFileSync(join(folder, "storage.conf"), ["[storage]", ...lines].join("\n"));
}
