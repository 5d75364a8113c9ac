/** A stdio server in a container: runs the engine's command, and always removes the container. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { ConfigError } from "@toolport/base";
import { secretsOf } from "../../config/known-secrets.js";
import type { DockerConfig } from "../../config/server-config.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import {
  describeStatus,
  type ProcessEnd,
  ProcessTransport,
  type StdioTransportOptions,
} from "../stdio/process-transport.js";
import { DEFAULT_STOP_TIMEOUTS } from "../stdio/server-process.js";
import { type Explanation, safeEnvironment } from "../stdio/spawn-environment.js";

/** For all removals of one container, so that a hanging engine delays `close()` by at most 5 s. */
const REMOVE_BUDGET_MS = 2_500;
/** The same if the command has exited by itself: no time was spent on ending it. */
const REMOVE_AFTER_EXIT_MS = 4_500;
const REMOVE_LEAST_MS = 300;

/** Creates a transport that runs `config.image` with `docker run -i --rm`, or with a compatible engine. */
export function createDockerTransport(
  config: DockerConfig,
  context: Pick<TransportContext, "maxMessageBytes" | "onStderr">,
  options: StdioTransportOptions = {},
): ServerTransport {
  const containerName = toContainerName(config.name, randomBytes(6).toString("hex"));
  const engineInput = (): EngineInput => {
    return { config, containerName, defaults: safeEnvironment(), hostEnv: process.env };
  };
  const remove = createRemoval(engineInput);
  return new ProcessTransport({
    kind: "docker",
    server: config.name,
    command: config.engine,
    encoding: "utf8",
    maxMessageBytes: context.maxMessageBytes,
    stopTimeouts: options.stopTimeouts ?? DEFAULT_STOP_TIMEOUTS,
    redact: secretsOf(config).foreign,
    onStderr: context.onStderr,
    launchOptions: () => ({ ...dockerRunCommand(engineInput()), cwd: undefined, stderr: "pipe" }),
    explainStart: (errno) => (errno === "ENOENT" ? explainMissing(config) : undefined),
    explainEnd: (end) => explainEnd(config, end),
    // Signals to the command end the container only if its program handles them.
    onStillRunning: () => void remove(REMOVE_BUDGET_MS),
    // Once more after the command has exited, when it can no longer create the container.
    cleanUp: () => remove(REMOVE_AFTER_EXIT_MS),
  });
}

/** The first call begins the time that all of them have. */
function createRemoval(engineInput: () => EngineInput): (budgetMs: number) => Promise<void> {
  let deadline: number | undefined;
  let last: Promise<void> = Promise.resolve();
  const run = async (budgetMs: number): Promise<void> => {
    deadline ??= performance.now() + budgetMs;
    const commands = dockerRemoveCommands(engineInput());
    // Without time left, run only the last command, which is enough for Docker and Podman.
    const due = performance.now() < deadline ? commands : commands.slice(-1);
    for (const [index, { command, args, env }] of due.entries()) {
      const share = (deadline - performance.now()) / (due.length - index);
      const timeout = Math.max(REMOVE_LEAST_MS, Math.ceil(share));
      await new Promise<void>((resolve) => {
        // Ignore failures: usually the container no longer exists.
        execFile(command, args, { env, timeout, killSignal: "SIGKILL", windowsHide: true }, () => resolve());
      });
    }
  };
  return (budgetMs) => {
    last = last.then(() => run(budgetMs)).catch(() => {});
    return last;
  };
}

function explainMissing({ engine }: DockerConfig): Explanation {
  return {
    what: `The container engine "${engine}" was not found`,
    next: 'Install Docker, set "engine" to "podman" or to the full path of another one, and check PATH',
  };
}

/** Explains the exit codes of `docker run` itself and of its init process; others come from the program in the container. */
function explainEnd({ engine, image }: DockerConfig, { status, hasSentMessage }: ProcessEnd): Explanation {
  if (status?.exitCode === 125 && !hasSentMessage) {
    return {
      what: `"${engine} run" could not start a container of "${image}" (exit code 125)`,
      next: `Check that the engine works ("${engine} info") and that the image exists and may be pulled`,
    };
  }
  if ((status?.exitCode === 126 || status?.exitCode === 127) && !hasSentMessage) {
    return {
      what: `The program in "${image}" could not be run (exit code ${status.exitCode})`,
      next: 'Check "args": they replace or follow the command of the image',
    };
  }
  if (status?.exitCode === 1 && !hasSentMessage) {
    // Podman's init process exits with 1 if it cannot run the program, but so do many programs.
    return {
      what: `The program in "${image}" could not be run, or it exited with code 1 before it sent a message`,
      next: `Check "args" (they replace or follow the command of the image), or run "${engine} run -i --rm ${image}" by hand to see why it exits`,
    };
  }
  return {
    what: `The container of "${image}" ${describeStatus(status)}${hasSentMessage ? "" : " before it sent a message"}`,
    next: hasSentMessage
      ? "The next call starts it again"
      : `Run "${engine} run -i --rm ${image}" by hand to see why it exits`,
  };
}

interface EngineCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface EngineInput {
  readonly config: Pick<
    DockerConfig,
    "name" | "image" | "dockerHost" | "engine" | "args" | "env" | "mounts" | "runArgs"
  >;
  readonly containerName: string;
  /** Variables of this process that are safe for every program. */
  readonly defaults: Readonly<Record<string, string>>;
  /** All variables of this process, from which the engine gets those that configure it. */
  readonly hostEnv: NodeJS.ProcessEnv;
}

/** Variables that the commands of Docker and Podman read besides `PATH` and `HOME`: hosts, contexts, sockets, proxies. */
const ENGINE_VARIABLES =
  /^(?:DOCKER_.*|CONTAINERS?_.*|PODMAN_.*|XDG_.*|REGISTRY_AUTH_FILE|SSH_AUTH_SOCK|TMPDIR|https?_proxy|no_proxy)$/i;

/** Variables that configure the engine itself: values for the container must not replace them. */
const ENGINE_SETTINGS =
  /^(?:PATH|HOME|TMPDIR|DOCKER_(?:HOST|CONTEXT|CONFIG|CERT_PATH|TLS|TLS_VERIFY|API_VERSION)|CONTAINERS?_.*|XDG_.*)$/i;

/**
 * `docker run`, attached to its standard streams. The container's variables are passed by name, and their values in the
 * environment of the engine's command, so that no process list shows them. Variables that would change the engine itself
 * (`PATH`, `HOME`, `DOCKER_HOST` …) are passed with their values on the command line.
 */
export function dockerRunCommand(input: EngineInput): EngineCommand {
  const { config, containerName } = input;
  checkImage(config);
  const values = config.env.reveal();
  const byName = Object.entries(values).filter(([name]) => !ENGINE_SETTINGS.test(name));
  const variables = config.env.names.map((name) =>
    ENGINE_SETTINGS.test(name) ? `${name}=${values[name]}` : name,
  );
  return {
    command: config.engine,
    args: [
      ...connectionArgs(config),
      ...["run", "-i", "--rm", "--init", "--name", containerName],
      ...variables.flatMap((variable) => ["-e", variable]),
      ...config.mounts.flatMap((mount) => ["-v", mount]),
      ...config.runArgs,
      config.image,
      ...config.args,
    ],
    env: { ...engineEnvironment(input), ...Object.fromEntries(byName) },
  };
}

/**
 * Kills and removes the container, whatever happened to the command that started it. Each command runs whether or not the
 * one before succeeded.
 *
 * `rm -f` of Docker kills at once. That of Podman sends SIGTERM and waits for 10 s; if it is killed meanwhile, the container
 * keeps running and is no longer listed. `-t 0` prevents that, but Docker and Podman before 4.0 do not support the option,
 * and `docker` may be an alias of Podman. `kill` works with all of them.
 */
export function dockerRemoveCommands(input: EngineInput): readonly EngineCommand[] {
  const { config, containerName } = input;
  const command = (...args: string[]): EngineCommand => ({
    command: config.engine,
    args: [...connectionArgs(config), ...args, containerName],
    env: engineEnvironment(input),
  });
  return [command("kill"), command("rm", "-f", ...(isPodman(config) ? ["-t", "0"] : []))];
}

/** A unique name that contains the server's name. */
export function toContainerName(server: string, suffix: string): string {
  const readable = server.replace(/[^a-zA-Z0-9_.-]+/g, "-").slice(0, 40);
  return `toolport-${readable}-${suffix}`;
}

function isPodman({ engine }: EngineInput["config"]): boolean {
  return /(?:^|[\\/])podman(?:-remote)?(?:\.exe)?$/i.test(engine);
}

/** Podman takes its address as an option, which also enables remote mode; Docker takes it from `DOCKER_HOST`. */
function connectionArgs(config: EngineInput["config"]): string[] {
  return config.dockerHost !== undefined && isPodman(config) ? ["--url", config.dockerHost] : [];
}

function engineEnvironment({ config, defaults, hostEnv }: EngineInput): Record<string, string> {
  const env: Record<string, string> = { ...defaults };
  for (const [name, value] of Object.entries(hostEnv)) {
    if (value !== undefined && ENGINE_VARIABLES.test(name)) env[name] = value;
  }
  if (config.dockerHost !== undefined && !isPodman(config)) {
    env.DOCKER_HOST = config.dockerHost;
    // A context takes precedence over DOCKER_HOST.
    delete env.DOCKER_CONTEXT;
  }
  return env;
}

/** An image that starts with a dash would be parsed as an option. */
function checkImage({ name, image }: EngineInput["config"]): void {
  if (image !== "" && !image.startsWith("-")) return;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    server: name,
    issues: [
      { path: `mcpServers.${name}.image`, message: "expected the name of an image, such as mcp/time" },
    ],
  });
}
