/** The commands that start and remove a container, for Docker and compatible engines. */
import type { DockerConfig } from "../../config/server-config.js";
import { ConfigError } from "../../errors/toolport-error.js";

export interface EngineCommand {
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
