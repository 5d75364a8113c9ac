/** The contract over the pipes of a child process, and of a container engine's command line. */
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { DockerConfig, StdioConfig } from "../../packages/core/src/config/server-config.js";
import { createDockerTransport } from "../../packages/core/src/transports/docker/docker-transport.js";
import type { ServerTransport } from "../../packages/core/src/transports/server-transport.js";
import { createStdioTransport } from "../../packages/core/src/transports/stdio/process-transport.js";
import { fixture } from "./contract-peer.js";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

/** The transport starts its peer itself. */
function subjectOf(transport: ServerTransport): ContractSubject {
  return {
    transport,
    vanish: () => void process.kill(transport.pid as number, "SIGKILL"),
    cleanup: async () => {},
  };
}

describeTransport("stdio", async (limits) => {
  const config: Partial<StdioConfig> = {
    kind: "stdio",
    name: "contract",
    command: process.execPath,
    args: [fixture("sdk-stdio")],
    env: new SecretRecord(),
    inheritEnv: false,
    cwd: undefined,
    encoding: "utf8",
    stderr: "pipe",
  };
  return subjectOf(createStdioTransport(config as StdioConfig, limits));
});

describeTransport("docker", async (limits) => {
  const config: Partial<DockerConfig> = {
    kind: "docker",
    name: "contract",
    image: "mcp/contract",
    engine: fixture("sdk-docker-engine"),
    dockerHost: undefined,
    args: [],
    env: new SecretRecord(),
    mounts: [],
    runArgs: [],
  };
  return subjectOf(createDockerTransport(config as DockerConfig, limits));
});
