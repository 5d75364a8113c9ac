/**
 * Faults that a real engine does not produce on demand: hang, pull with a progress display, refuse an image as Docker does. A
 * stand-in for its command line records its calls. Real containers are in `podman.slow.test.ts`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { DockerConfig } from "../../packages/core/src/config/server-config.js";
import { createDockerTransport } from "../../packages/core/src/transports/docker/docker-transport.js";
import { containerConfig, isAlive, ownChildren, pidFolder, StdioPeer } from "../fixtures/stdio-peer.js";

const STAND_IN = fileURLToPath(new URL("../fixtures/bin/docker-stand-in.mjs", import.meta.url));
let scratch: ReturnType<typeof pidFolder>;
let log: string;

beforeEach(() => {
  scratch = pidFolder();
  log = join(scratch.folder, "log");
  process.env.DOCKER_STAND_IN_LOG = log;
});

afterEach(() => {
  delete process.env.DOCKER_STAND_IN_LOG;
  delete process.env.DOCKER_STAND_IN_MODE;
  scratch.remove();
  expect(ownChildren()).toEqual([]);
});

const dockerConfig = (overrides: Partial<DockerConfig> = {}): DockerConfig =>
  containerConfig({ name: "time", image: "mcp/lean", engine: STAND_IN, ...overrides });

async function start(overrides: Partial<DockerConfig> = {}): Promise<StdioPeer> {
  const peer = new StdioPeer(createDockerTransport(dockerConfig(overrides), { maxMessageBytes: 1_000_000 }));
  await peer.transport.start();
  return peer;
}

function calls(): { argv: string[]; env: string[]; pid: number }[] {
  if (!existsSync(log)) return [];
  return readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const nameOf = (argv: string[] = []) => argv[argv.indexOf("--name") + 1];

describe("a server in a container", () => {
  it("is started, called and removed by name", async () => {
    const peer = await start({ env: new SecretRecord({ API_KEY: "s3cret-value" }), mounts: ["/a:/b:ro"] });
    expect(peer.transport.kind).toBe("docker");
    expect(await peer.call("env", { name: "API_KEY" })).toBe("s3cret-value");
    await peer.transport.close();
    expect(peer.closeCount).toBe(1);
    const [run, ...rest] = calls();
    expect(run?.argv.join(" ")).toMatch(
      /^run -i --rm --init --name toolport-time-[0-9a-f]{12} -e API_KEY -v \/a:\/b:ro mcp\/lean$/,
    );
    expect(run?.env).toContain("API_KEY");
    expect(readFileSync(log, "utf8")).not.toContain("s3cret-value");
    const name = nameOf(run?.argv);
    expect(rest.map(({ argv }) => argv)).toEqual([
      ["kill", name],
      ["rm", "-f", name],
    ]);
  });

  it("works when the engine writes its progress to standard output", async () => {
    process.env.DOCKER_STAND_IN_MODE = "progress";
    const peer = await start();
    expect(await peer.call("echo", { text: "hi" })).toBe("hi");
    await peer.transport.close();
  });

  it("exit code 125: the error has the output of the engine and what to check", async () => {
    process.env.DOCKER_STAND_IN_MODE = "exit125";
    const peer = await start();
    await peer.closed;
    await peer.transport.close();
    const error = peer.transport.closeError;
    expect(error).toMatchObject({ code: "SPAWN_FAILED", exitCode: 125, server: "time" });
    expect(error?.message).toContain('could not start a container of "mcp/lean" (exit code 125)');
    expect(error?.message).toContain("pull access denied");
    expect(error?.message).toContain("Check that the engine works");
    expect(calls().map(({ argv }) => argv[0])).toEqual(["run", "kill", "rm"]);
  });

  it("the error names a missing engine", async () => {
    const transport = createDockerTransport(dockerConfig({ engine: "no-such-engine" }), {
      maxMessageBytes: 1_000,
    });
    await expect(transport.start()).rejects.toMatchObject({
      code: "SPAWN_FAILED",
      errno: "ENOENT",
      message: expect.stringContaining('The container engine "no-such-engine" was not found'),
    });
    await transport.close();
  });

  it("a hanging engine does not delay close(), and is ended", async () => {
    process.env.DOCKER_STAND_IN_MODE = "hang";
    const peer = await start();
    await peer.transport.close();
    expect(
      calls()
        .map(({ pid }) => pid)
        .filter(isAlive),
    ).toEqual([]);
    expect(calls().map(({ argv }) => argv[0])).toContain("rm");
  });
});
