/** Checks whether what a server needs to be started is on this machine: its program, its folder, the container engine. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { DockerConfig, StdioConfig } from "../../config/server-config.js";
import { EXIT } from "../exit-codes.js";
import { findProgram, isFolder } from "./find-program.js";
import type { Finding } from "./finding.js";

const run = promisify(execFile);
const ENGINE_TIMEOUT_MS = 10_000;

export interface CommandPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the server is configured, for advice. */
  readonly where: string;
}

export async function checkCommand(
  config: StdioConfig | DockerConfig,
  place: CommandPlace,
): Promise<Finding[]> {
  if (config.kind === "docker") return checkEngine(config, place);
  const { name: server, command, cwd } = config;
  // The variables of an entry count for the lookup, too.
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
    message: isPath ? `${command} is no file that may be run` : `${command} is not on PATH`,
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
    const message = `The container engine answers, version ${stdout.trim() || "unknown"}`;
    return [program, { check: "docker", server, status: "ok", message }];
  } catch {
    return [
      program,
      {
        ...{ check: "docker", server, status: "fail", exitCode: EXIT.unreachable },
        message: `${engine} is installed, but its daemon does not answer`,
        next: `Start it, and try: ${engine} version`,
      },
    ];
  }
}
