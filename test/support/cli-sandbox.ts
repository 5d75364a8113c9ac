/** Runs the real program as a process with a temporary home, so that it does not read files of this machine's user. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { createCommandLinePlace, type Ended, ended } from "./command-line.js";

export interface SandboxRunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gets the process as soon as it is started. */
  readonly onStart?: (child: ChildProcess) => void;
}

export interface CliSandbox extends Disposable {
  /** The program's file. */
  readonly main: string;
  readonly home: string;
  /** The project folder, which is the working directory. */
  readonly project: string;
  /** Toolport's own file for this user. */
  readonly ownFile: string;
  readonly statePath: string;
  readonly env: Readonly<Record<string, string>>;
  run(...args: string[]): Promise<Ended>;
  runWith(options: SandboxRunOptions, ...args: string[]): Promise<Ended>;
  /** Writes a string, or a value as JSON, to a path such as `home/.cursor/mcp.json` or `project/…`. */
  write(path: string, content: unknown): Promise<string>;
  read(path: string): Promise<string>;
}

/** Builds the program once for a test file and returns a function that creates sandboxes. */
export function useProgram(): () => CliSandbox {
  let source: ({ folder: string } & Disposable) | undefined;
  beforeAll(async () => {
    source = await transpileEverything();
  });
  afterAll(() => source?.[Symbol.dispose]());
  return () => createSandbox(join(source!.folder, "cli", "main.js"));
}

function createSandbox(main: string): CliSandbox {
  const place = createCommandLinePlace();
  const { home, project } = place;
  const env = { ...place.env, NO_COLOR: "1" };
  const runWith = ({ input = "", env: more, onStart }: SandboxRunOptions, ...args: string[]) => {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: project,
      env: { ...env, ...more },
      stdio: "pipe",
    });
    onStart?.(child);
    child.stdin.end(input);
    return ended(child);
  };
  return {
    main,
    home,
    project,
    env,
    runWith,
    ownFile: join(home, ".config", "toolport", "toolport.json"),
    statePath: join(home, ".state", "toolport", "state.db"),
    run: (...args) => runWith({}, ...args),
    async write(path, content) {
      const file = join(dirname(home), path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
      return file;
    },
    read: (path) => readFile(path, "utf8"),
    [Symbol.dispose]: () => place[Symbol.dispose](),
  };
}
