/** Runs `toolport` with a temporary home, project and state, as a process or in this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { runCommandLine } from "../../packages/cli/src/run-command-line.js";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Raw stdout. */
  readonly bytes: Buffer;
  /** Stdout parsed as one JSON document. */
  json<Document = Record<string, unknown>>(): Document;
  /** The error line of stderr. */
  error(): Record<string, unknown> & { code: string; message: string; next: string };
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Stdout is a terminal (only in this process). @default false */
  readonly isTerminal?: boolean;
  /** Options for Node. */
  readonly nodeArgs?: readonly string[];
}

/** The environment of a command line. */
export interface CommandLinePlace extends Disposable {
  /** The project folder, which is the working directory. */
  readonly project: string;
  readonly home: string;
  /** Its environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Writes the project's `toolport.json`. */
  configure(mcpServers: Readonly<Record<string, unknown>>): void;
  /** Runs it in this process: everything except the start of the program, and much faster. */
  run(args: readonly string[], options?: Omit<RunOptions, "nodeArgs">): Promise<Ended>;
}

export function createCommandLinePlace(): CommandLinePlace {
  const folder = mkdtempSync(join(tmpdir(), "toolport-cli-"));
  const [project, home] = [join(folder, "project"), join(folder, "home")];
  for (const path of [project, home]) mkdirSync(path);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_STATE_HOME: join(home, ".state"),
    TERM: "xterm-256color",
  };
  return {
    project,
    home,
    env,
    configure(mcpServers) {
      writeFileSync(join(project, "toolport.json"), JSON.stringify({ mcpServers }, undefined, 2));
    },
    async run(args, options = {}) {
      const [stdout, stderr] = [new Collected(), new Collected()];
      if (options.isTerminal) Object.assign(stdout, { isTTY: true, columns: 80 });
      const code = await runCommandLine({
        args,
        stdout,
        stderr,
        cwd: project,
        env: { ...env, ...options.env },
        stdin: Readable.from([Buffer.from(options.input ?? "")]),
        signals: new EventEmitter(),
        onSecondSignal() {},
      });
      return toEnded(code, stdout.bytes(), stderr.bytes());
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Can also run the program as a separate process. */
export interface CommandLineBench extends CommandLinePlace {
  /** The program's file. */
  readonly main: string;
  /** Runs it as a process to its end. */
  spawn(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Starts it and returns the process, which the caller must end. */
  start(args: readonly string[], options?: RunOptions): ChildProcess;
}

/** Compiles the program from the sources, so that no build is needed. */
export async function createCommandLineBench(): Promise<CommandLineBench> {
  const source = await transpileEverything();
  const place = createCommandLinePlace();
  const main = join(source.folder, "cli", "main.js");
  const start = (args: readonly string[], options: RunOptions = {}): ChildProcess =>
    spawn(process.execPath, [...(options.nodeArgs ?? []), main, ...args], {
      cwd: place.project,
      env: { ...place.env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
  return {
    ...place,
    main,
    start,
    spawn(args, options = {}) {
      const child = start(args, options);
      child.stdin?.end(options.input ?? "");
      return ended(child);
    },
    [Symbol.dispose]() {
      source[Symbol.dispose]();
      place[Symbol.dispose]();
    },
  };
}

/** Output and exit code of a process. */
export function ended(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  child.stdout?.pipe(stdout);
  child.stderr?.pipe(stderr);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(toEnded(code, stdout.bytes(), stderr.bytes())));
  });
}

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

function toEnded(code: number | null, bytes: Buffer, errors: Buffer): Ended {
  const [stdout, stderr] = [bytes.toString("utf8"), errors.toString("utf8")];
  return {
    code,
    stdout,
    stderr,
    bytes,
    json: () => JSON.parse(stdout) as never,
    error: () => (JSON.parse(stderr) as { error: never }).error,
  };
}
