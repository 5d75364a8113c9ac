/**
 * A real Podman for one test file, with its own storage and settings, and one image with the current Node and the lean
 * server. Nothing is fetched from a registry.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { findProgram, mayBeSkipped } from "./local-service.js";
import { waitFor } from "./wait-for.js";

const run = promisify(execFile);
const program = findProgram("podman");
const MAX_OUTPUT = 64 * 1_024 * 1_024;

export const LEAN_IMAGE = "localhost/toolport-lean";

export interface Container {
  readonly name: string;
  /** Process id of its first process on the host. */
  readonly pid: number;
}

export interface PodmanEngine extends AsyncDisposable {
  /** Runs a command of Podman and returns what it prints. */
  podman(...args: readonly string[]): Promise<string>;
  /** All that a container has printed. It needs a log driver. */
  logs(container: string): Promise<string>;
  /** Imports an image that consists of these files. Programs bring the libraries they are linked to. */
  importImage(image: LocalImage): Promise<void>;
  /** Serves its API on a socket, like a daemon. */
  serve(): Promise<AsyncDisposable & { readonly url: string }>;
  /** Containers in any state. */
  containers(): Promise<Container[]>;
  /** Host processes of this engine and its containers. */
  processes(): Promise<string[]>;
}

/** An image that is made of files of this machine. */
export interface LocalImage {
  readonly name: string;
  /** Source by path in the image. Folders are copied with all they contain. */
  readonly files: Readonly<Record<string, string>>;
  /** Contents by path in the image. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Targets of symbolic links by path in the image. */
  readonly links?: Readonly<Record<string, string>>;
  /** Folders by path in the image, with the user and group that own them. */
  readonly folders?: Readonly<Record<string, number>>;
  /** Instructions of a container file, e.g. `ENTRYPOINT`. */
  readonly changes?: readonly string[];
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
    writeSettings(folder);
    await engine.importImage({
      name: LEAN_IMAGE,
      files: { "/bin/node": process.execPath, "/app/server.mjs": LEAN_SERVER },
      changes: ['ENTRYPOINT ["/bin/node","/app/server.mjs"]'],
    });
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
    podman: async (...args) => (await run(podman, args, { maxBuffer: MAX_OUTPUT })).stdout,
    async logs(container) {
      const { stdout, stderr } = await run(podman, ["logs", container], { maxBuffer: MAX_OUTPUT });
      return stdout + stderr;
    },
    importImage: (image) => importImage(podman, folder, image),
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

async function importImage(
  podman: string,
  folder: string,
  { name, files, texts = {}, links = {}, folders = {}, changes = [] }: LocalImage,
): Promise<void> {
  const root = join(folder, "root");
  const place = (path: string): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  for (const [path, from] of Object.entries(files)) {
    cpSync(from, place(path), { recursive: true, dereference: true });
    if (!isProgram(from)) continue;
    const { stdout: libraries } = await run("ldd", [from]);
    for (const [library] of libraries.matchAll(/(?<=\s)\/\S+/g)) copyFileSync(library, place(library));
  }
  for (const [path, text] of Object.entries(texts)) writeFileSync(place(path), text);
  for (const [path, target] of Object.entries(links)) symlinkSync(target, place(path));
  for (const [path, owner] of Object.entries(folders)) {
    mkdirSync(place(path), { recursive: true });
    chownSync(join(root, path), owner, owner);
  }
  const archive = join(folder, "image.tar");
  await run("tar", ["-C", root, "-cf", archive, "."]);
  const options = changes.flatMap((change) => ["--change", change]);
  await run(podman, ["import", "--quiet", ...options, archive, name]);
  for (const path of [root, archive]) rmSync(path, { recursive: true });
}

/** True for a file in the format of Linux programs. */
function isProgram(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const file = openSync(path, "r");
  const start = Buffer.alloc(4);
  readSync(file, start);
  closeSync(file);
  return start.toString("latin1") === "\x7fELF";
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
