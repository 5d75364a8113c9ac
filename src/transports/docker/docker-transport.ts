/** A stdio server in a container: runs the engine's command, and always removes the container. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { secretsOf } from "../../config/known-secrets.js";
import type { DockerConfig } from "../../config/server-config.js";
import type { ServerTransport, TransportContext } from "../server-transport.js";
import type { Explanation } from "../stdio/explain-spawn-error.js";
import {
  describeStatus,
  type ProcessEnd,
  ProcessTransport,
  type StdioTransportOptions,
} from "../stdio/process-transport.js";
import { DEFAULT_STOP_TIMEOUTS } from "../stdio/server-process.js";
import { safeEnvironment } from "../stdio/spawn-environment.js";
import {
  dockerRemoveCommands,
  dockerRunCommand,
  type EngineInput,
  toContainerName,
} from "./docker-command.js";

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
