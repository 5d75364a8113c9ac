/**
 * A real Podman for one test file, with its own storage and settings, and one image with the current Node and the lean
 * server. Nothing is fetched from a registry.
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
  /** Process id of its first process on the host. */
  readonly pid: number;
}

export interface PodmanEngine extends AsyncDisposable {
  /** Serves its API on a socket, like a daemon. */
  serve(): Promise<AsyncDisposable & { readonly url: string }>;
  /** Containers in any state. */
  containers(): Promise<Container[]>;
  /** Host processes of this engine and its containers. */
  processes(): Promise<string[]>;
}

/** The engine, or the reason why it cannot be used; the skipped suite shows the reason in its name. */
export type FoundPodman = { readonly engine: PodmanEngine } | { readonly refusal: string };

/**
 * Builds the image and runs one container as a probe. If services are required, a missing Podman throws. A kernel that
 * cannot run containers is always a reason to skip, with Podman's message.
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
    // The command line of each container's monitor contains the storage folder.
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
      await waitFor(async () => (await processes()).length === 0, { label: "all podman processes to exit" });
      restore();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Toolport passes these variables to the engine, as it does for users. */
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

/** No network, no journal, small limits, and all files in the folder. */
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
