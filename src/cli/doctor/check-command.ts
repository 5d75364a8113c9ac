/** Checks that a server's program, working directory or container engine exists on this machine. */
import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { DockerConfig, StdioConfig } from "../../config/server-config.js";
import { EXIT } from "../exit-codes.js";
import type { Finding } from "./finding.js";

const run = promisify(execFile);
const ENGINE_TIMEOUT_MS = 10_000;

export interface CommandPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Location of the server's entry, for advice. */
  readonly where: string;
}

export async function checkCommand(
  config: StdioConfig | DockerConfig,
  place: CommandPlace,
): Promise<Finding[]> {
  if (config.kind === "docker") return checkEngine(config, place);
  const { name: server, command, cwd } = config;
  // PATH may be set in the entry.
  const env = { ...place.env, ...config.env.reveal() };
  const findings: Finding[] = [];
  if (cwd !== undefined && !isFolder(cwd)) {
    findings.push({
      ...{ check: "command", server, status: "fail", exitCode: EXIT.unreachable },
      message: `The working directory ${cwd} does not exist`,
      next: `Correct "cwd" in ${place.where}, or create the directory`,
    });
  }
  findings.push(foundProgram(command, findProgram({ command, cwd, env }), { server, where: place.where }));
  return findings;
}

function foundProgram(
  command: string,
  file: string | undefined,
  { server, where }: { server: string; where: string },
): Finding {
  if (file !== undefined) return { check: "command", server, status: "ok", message: `${command} is ${file}` };
  const isPath = /[\\/]/.test(command);
  return {
    ...{ check: "command", server, status: "fail", exitCode: EXIT.unreachable },
    message: isPath ? `${command} is not an executable file` : `${command} is not on PATH`,
    next: isPath
      ? `Correct "command" in ${where}, or make the file executable`
      : `Install ${command}, or give its full path in ${where}`,
  };
}

async function checkEngine(
  { name: server, engine, dockerHost }: DockerConfig,
  { env, where }: CommandPlace,
): Promise<Finding[]> {
  const program = foundProgram(engine, findProgram({ command: engine, cwd: undefined, env }), {
    server,
    where,
  });
  if (program.status === "fail") return [program];
  const hostEnv = {
    ...env,
    ...(dockerHost !== undefined && { DOCKER_HOST: dockerHost }),
  } as NodeJS.ProcessEnv;
  try {
    const { stdout } = await run(engine, ["version", "--format", "{{.Server.Version}}"], {
      env: hostEnv,
      timeout: ENGINE_TIMEOUT_MS,
    });
    const message = `The container engine responds, version ${stdout.trim() || "unknown"}`;
    return [program, { check: "docker", server, status: "ok", message }];
  } catch {
    return [
      program,
      {
        ...{ check: "docker", server, status: "fail", exitCode: EXIT.unreachable },
        message: `${engine} is installed, but its daemon does not respond`,
        next: `Start it, then try: ${engine} version`,
      },
    ];
  }
}

interface ProgramSearch {
  readonly command: string;
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @default the current platform */
  readonly platform?: NodeJS.Platform;
}

/** Finds the file that the operating system would run; undefined if there is none, or it is not executable. */
function findProgram({
  command,
  cwd = "",
  env,
  platform = process.platform,
}: ProgramSearch): string | undefined {
  const isPath = /[\\/]/.test(command);
  const path = Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1] ?? "";
  const folders = isPath ? [isAbsolute(command) ? "" : resolve(cwd)] : path.split(delimiter).filter(Boolean);
  const endings = platform === "win32" ? ["", ...(env["PATHEXT"] ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  return folders
    .flatMap((folder) =>
      endings.map((ending) => (folder === "" ? command + ending : join(folder, command + ending))),
    )
    .find(isRunnable);
}

function isRunnable(file: string): boolean {
  try {
    if (!statSync(file).isFile()) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
