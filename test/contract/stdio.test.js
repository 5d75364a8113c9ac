/** The contract over the pipes of a child process, and of a container engine's command line. */
import { SecretRecord } from "../../src/config/secret-record.js";
import { createDockerTransport } from "../../src/transports/docker/docker-transport.js";
import { createStdioTransport } from "../../src/transports/stdio/stdio-transport.js";
import { fixture } from "./contract-peer.js";
import { describeTransport } from "./transport-contract.js";
/** The transport starts its other side itself. */
function subjectOf(transport) {
    return {
        transport,
        vanish: () => void process.kill(transport.pid, "SIGKILL"),
        cleanup: async () => { },
    };
}
describeTransport("stdio", async (limits) => {
    const config = {
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
    return subjectOf(createStdioTransport(config, limits));
});
describeTransport("docker", async (limits) => {
    const config = {
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
    return subjectOf(createDockerTransport(config, limits));
});
